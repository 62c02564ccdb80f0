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
  std::vector<std::string> devices;  // empty: the CPU
  std::vector<std::string> inputs;   // NAME=FILE
  bool each = false;
  bool capture = false;           // the device records a run and replays it
  std::string function;           // empty: the graph
  std::vector<std::string> args;  // of the function
  std::string output;
  std::string expect;
  Tolerance tolerance;
  int repeat = 1;
  std::string trace;
  bool allow_missing = false;
  bool json = false;
};

struct RunOutcome {
  std::vector<HostArray> arrays;      // outputs; of a function: array arguments and the result
  std::optional<std::string> result;  // of a function that returns no array, in words
  std::vector<double> run_ns;         // of each run
  double create_ns = 0;               // of the executor
};

// Creates an executor, gives it its inputs, runs it, fetches the outputs.
Result<RunOutcome> run_graph(Runtime& runtime, const Module& model, const RunOptions& options,
                             bool quiet);

// Calls one function of the module or its imports. Array arguments lie on the first device.
Result<RunOutcome> run_function(Runtime& runtime, const Module& model, const RunOptions& options,
                                bool quiet);

}  // namespace gantry::cli
