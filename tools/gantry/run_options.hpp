// SPDX-License-Identifier: Apache-2.0
//
// The options of `run`, and its outcome.
#pragma once

#include "tools/gantry/command.hpp"
#include "tools/gantry/common/statistics.hpp"
#include "tools/gantry/cpu_array.hpp"
#include "tools/gantry/model_input.hpp"
#include "tools/gantry/model_weights.hpp"
#include "tools/gantry/outputs.hpp"
#include "tools/gantry/time_limit.hpp"

#include <gantry/embed.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct RunOptions {
  std::string file;
  // the graph that belongs to the file, a library, and its parameters; empty: it contains them
  std::string graph, params;
  // empty: those that the artifact names
  std::vector<std::string> devices;
  InputOptions inputs;
  bool each = false;
  // a directory, for inputs that no file sets; empty: none
  std::string weights;
  // record a run on the device and replay it
  bool capture = false;
  // of a virtual machine or a library; empty: run the graph, or the machine's only function
  std::string function;
  // call it although the library has no symbol of TVM
  bool force = false;
  // arguments of the function by position
  std::vector<std::string> args;
  // a call script to play; empty: none
  std::string script;
  // where to write the script with the results
  std::string record;
  std::string output;
  // the values in the report
  ShownValues shown;
  std::string expect;
  Tolerance tolerance;
  int repeat = 1;
  std::string trace;
  LoadOptions load;
  // seconds; 0: not given
  int timeout = 0;
  bool json = false;
};

struct RunOutcome {
  // outputs of a model; array arguments and the result of a function
  std::vector<CpuArray> arrays;
  // outputs or results that are neither arrays nor numbers
  std::vector<NamedText> texts;
  // `arrays` begins with arguments
  bool has_arguments = false;
  // of each run
  RunTimes run_ns;
  // creation of the executor or the machine
  double create_ns = 0;
};

// Sets the inputs of a model, runs it, and fetches the outputs.
//
// create_ns  [in]   how long the creation of the model took, in nanoseconds
// weights    [in]   those of --weights; NULL: not given
Result<RunOutcome> run_model(const Runtime& runtime, Session& model, double create_ns,
                             const RunOptions& options, const ModelWeights* weights,
                             const TimeLimit& limit, bool quiet);

// Plays a call script and reports the differences.
Result<ExitStatus> run_script(const RunOptions& options, const Globals& globals,
                              const TimeLimit& limit);

// Checks that TVM's calling convention can be assumed for the functions of a library: it has a
// symbol of TVM or of `gantry pack`. Errors of reading the file are left to the loader.
//
// function [in]   that will be called
// returns  unsupported, reason NOT_TVM
Status check_called_library(const Runtime& runtime, const std::string& file,
                            std::string_view function);

// Calls one function of the module or its imports, with arguments by position. Array arguments are
// on the first device.
Result<RunOutcome> run_function(const Runtime& runtime, const Module& module,
                                const RunOptions& options, const TimeLimit& limit, bool quiet);

}  // namespace gantry::cli
