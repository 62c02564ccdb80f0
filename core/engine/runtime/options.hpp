// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class ThreadPool;

// How a runtime is created.
struct EngineOptions {
  // empty: the configuration of the system, see configs/README.md; "/dev/null": none
  std::string config_file;
  // searched before all other directories
  std::vector<std::string> plugin_dirs;
  // manifests, before plugin_dirs
  std::vector<std::string> plugin_files;
  // do not search other directories
  bool only_these_plugins = false;
  // of the pool, including the caller; 0: as configured, else as TVM_NUM_THREADS or
  // OMP_NUM_THREADS states, else one for each allowed CPU
  int threads = 0;
  // how long a waiting thread of the pool spins before it sleeps, in microseconds; 0: not at all;
  // -1: as configured, else 400
  int spin_us = -1;
  // shared with other runtimes; then threads and spin_us, also as configured, have no effect. Empty:
  // the runtime has its own
  std::shared_ptr<ThreadPool> pool;
  // "error", "warning", "info" or "debug"; empty: as configured
  std::string log_level;
  // empty: stderr
  std::function<void(std::int32_t level, std::string_view text)> log_sink;
  // Called when work of a plugin begins that can take seconds, such as compiling a kernel, with its
  // number and a text ("gantry.opencl: compiling kernel ..."), and when it ends, with an empty text.
  // Several works may run at the same time, in any threads. Empty: no calls.
  std::function<void(std::uint64_t work, std::string_view text)> work_sink;
  // called with what models print, on any thread, also on several at the same time; empty: standard output, with
  // control characters escaped
  std::function<void(std::string_view text)> output_sink;
  // open plugins of vendors in a child process first, as their manifests state; false: no child
  // process is started
  bool probe = true;
  // record spans
  bool trace = false;
};

// What an artifact may lack or require.
struct LoadPermissions {
  // keep modules without a plugin as unbound placeholders
  bool allow_missing = false;
  // refuse kernels without a plugin also where the model states that it does not use their device
  bool strict = false;
  // those that the caller will name for the model: "cpu", "opencl:1"; empty: the model's defaults
  std::vector<std::string> devices = {};
  // load a library that requires an executable stack: the stacks of the process become executable
  bool allow_executable_stack = false;
};

// A model in three files, as TVM before 0.7 exports it.
struct ModelFiles {
  // anything that load_file() loads: "deploy.so"
  std::string library;
  // JSON: "deploy.json"
  std::string graph;
  // "deploy.params"; empty: the graph has no parameters
  std::string params;
};

}  // namespace gantry
