// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/options.hpp - how runtimes, artifacts and models are created.
#pragma once

#include <gantry/embed_types.h>
#include <gantry/embed/pool.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
inline namespace embed_api {

struct LoadOptions {
  // keep modules without a plugin, whose calls fail with the reason
  bool allow_missing = false;
  // refuse a file with modules without a plugin, whatever devices its model states
  bool strict = false;
  // that the model will be made for, "cpu", "opencl:1"; empty: its own. Kernels of others need no plugin
  std::vector<std::string> devices;
  // load a library that requires an executable stack: the stacks of the process become executable
  bool allow_executable_stack = false;
};

// A model in three files, as TVM before 0.7 exports it.
struct GraphFiles {
  // anything that Runtime::load() loads: "deploy.so"
  std::string library;
  // JSON: "deploy.json"
  std::string graph;
  // "deploy.params"; empty: the graph has no parameters
  std::string params;
};

struct ModelOptions {
  // the device records the second run of each executor and replays it in later runs; of graphs only
  bool capture = false;
  // what the first run would do once is done now: device code is compiled and loaded
  bool prepare = false;
  // maximum number of runs at the same time; 0: the number of threads of the runtime
  std::uint32_t executors = 0;
};

struct RuntimeOptions {
  // empty: the configuration of the system, see configs/README.md; "/dev/null": none
  std::string config_file;
  // directories and manifests of plugins, searched before all others; manifests come first
  std::vector<std::string> plugin_paths;
  // do not search elsewhere
  bool only_these_plugins = false;
  // including the caller; 0: as configured, else one for each allowed CPU
  int threads = 0;
  // how long a waiting thread spins before it sleeps, in microseconds; 0: not at all; -1: as
  // configured, else 400
  int spin_us = -1;
  // of several runtimes; then `threads` is 0, and `spin_us` has no effect
  Pool pool;
  // "error", "warning", "info" or "debug"; empty: as configured
  std::string log_level;
  // called on any thread, also on several at the same time; empty: stderr
  std::function<void(std::int32_t level, std::string_view text)> log_sink;
  // Called when work of a plugin begins that can take seconds, such as compiling a kernel, with its
  // number and a text ("gantry.opencl: compiling kernel ..."), and when it ends, with an empty text.
  // Several works may run at the same time, in any threads. Empty: no calls.
  std::function<void(std::uint64_t work, std::string_view text)> work_sink;
  // called with what models print, such as the values of a print operator, with its line breaks; on any
  // thread, also on several at the same time. Empty: standard output, with control characters escaped
  std::function<void(std::string_view text)> output_sink;
  // false: no child process is started to open a plugin there first
  bool probe = true;
  // record spans for Runtime::trace_json()
  bool trace = false;
};

}  // namespace embed_api
}  // namespace gantry
