// SPDX-License-Identifier: Apache-2.0
//
// The measurements of `bench`, and their output.
#pragma once

#include "tools/gantry/common/process_memory.hpp"
#include "tools/gantry/common/statistics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gantry::cli {

struct NamedTime {
  std::string name;
  double ns = 0;
};

struct DeviceBytes {
  std::string name;
  std::uint64_t bytes = 0;
};

struct BenchReport {
  std::string file;
  // of a virtual machine; empty: not given
  std::string function;
  // a directory; empty: not given
  std::string weights;
  std::vector<std::string> devices;
  // the steady runs replay a recording
  bool capture = false;
  std::vector<std::string> plugins;

  // of the runtime's pool, and those of the CPUs that this process may use
  int threads = 0, cpus = 0;
  // CPUs that other processes used during the steady runs; nullopt: unknown
  std::optional<double> other_cpus;

  // A run includes passing inputs that are on the model's device, and its outputs to the caller.
  double load_ns = 0, create_ns = 0, first_ns = 0;
  RunTimes steady_ns;
  // the mean of each, the slowest first
  std::vector<NamedTime> operators;
  // of a model compiled ahead of time whose calls of operators cannot be recorded
  bool has_hidden_operators = false;
  // the median of a run's work in the default stream of each device
  std::vector<NamedTime> device_times;
  // allocated after the runs
  std::vector<DeviceBytes> device_bytes;
  std::uint64_t file_bytes = 0;
  ProcessMemory before, after;
};

std::string bench_text(const BenchReport& report);
std::string bench_json(const BenchReport& report);

}  // namespace gantry::cli
