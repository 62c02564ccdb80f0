// SPDX-License-Identifier: Apache-2.0
//
// What `run` is asked for and what came of it.
#pragma once

#include "tools/gantry/host_array.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gantry::cli {

struct RunOptions {
  std::string file;
  // empty: the CPU
  std::vector<std::string> devices;
  // NAME=FILE
  std::vector<std::string> inputs;
  bool each = false;
  // the device records a run and replays it
  bool capture = false;
  // empty: the graph
  std::string function;
  // of the function
  std::vector<std::string> args;
  std::string output;
  std::string expect;
  Tolerance tolerance;
  int repeat = 1;
  std::string trace;
  bool allow_missing = false;
  bool json = false;
};

struct RunOutcome {
  // outputs; of a function: array arguments and the result
  std::vector<HostArray> arrays;
  // of a function that returns no array, in words
  std::optional<std::string> result;
  // of each run
  std::vector<double> run_ns;
  // of the executor
  double create_ns = 0;
};

// Creates an executor, gives it its inputs, runs it, fetches the outputs.
Result<RunOutcome> run_graph(Runtime& runtime, const Module& model, const RunOptions& options,
                             bool quiet);

// Calls one function of the module or its imports. Array arguments lie on the first device.
Result<RunOutcome> run_function(Runtime& runtime, const Module& model, const RunOptions& options,
                                bool quiet);

}  // namespace gantry::cli
