// SPDX-License-Identifier: Apache-2.0
//
// The measurements of `bench`, and their output.
#pragma once

#include "tools/gantry/common/measurement.hpp"
#include "tools/gantry/common/process_memory.hpp"
#include "tools/gantry/common/statistics.hpp"

#include <gantry/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct NamedTime {
  std::string name;
  double ns = 0;
};

// Calls of one name in a run.
struct OperatorTime {
  std::string name;
  // the mean of a run, without the calls within them
  double ns = 0;
  double calls = 0;
};

struct DeviceBytes {
  std::string name;
  std::uint64_t bytes = 0;
};

struct BenchInput {
  std::string name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // the first 16 digits of the SHA-256 of the elements
  std::string digest;
};

// Copies of all inputs, or of all outputs, of a run.
struct CopyTimes {
  std::uint64_t bytes = 0;
  // empty: nothing was copied
  RunTimes ns;
};

// Runs of several threads at once, each with an executor of its own.
struct ConcurrencyLevel {
  int at_once = 0;
  RunTimes run_ns;
  // from the start of the first run to the end of the last one
  double all_ns = 0;
  // allocated while all executors exist
  std::vector<DeviceBytes> device_bytes;
};

struct BenchReport {
  std::string file;
  // of a virtual machine; empty: not given
  std::string function;
  // a directory; empty: not given
  std::string weights;
  std::vector<std::string> devices;
  std::vector<BenchInput> inputs;
  // the steady runs replay a recording
  bool capture = false;
  std::vector<std::string> plugins;

  // of the runtime's pool, and those of the CPUs that this process may use
  int threads = 0, cpus = 0;
  // CPUs that other processes used during the steady runs; nullopt: unknown
  std::optional<double> other_cpus;

  // A run includes passing inputs that are on the model's device, and its outputs to the caller.
  double load_ns = 0, create_ns = 0, first_ns = 0;
  // runs before the steady ones, the first among them
  std::size_t warmup = 0;
  // Of the steady runs without device_times and operators, which are those of further steady runs, as
  // measuring them takes time, too; of all if there is only one.
  RunTimes run_ns;
  // all steady runs
  std::size_t runs = 0;
  // between the CPU and another device, of the same runs
  CopyTimes to_device, from_device;
  // in a run, for the throughput
  std::uint64_t items = 1;
  // the slowest first; of operator_runs runs
  std::vector<OperatorTime> operators;
  std::size_t operator_runs = 0;
  // of a model compiled ahead of time whose calls of operators cannot be recorded
  bool has_hidden_operators = false;
  // the median of a run's work in the default stream of each device
  std::vector<NamedTime> device_times;
  // allocated after the runs
  std::vector<DeviceBytes> device_bytes;
  std::uint64_t file_bytes = 0;
  ProcessMemory before, after;
  std::vector<ConcurrencyLevel> concurrency;

  // with --baseline
  std::optional<Comparison> comparison;
};

// One device of --device all.
struct DeviceRow {
  // "opencl:0"; of a kind without devices "opencl"
  std::string name;
  // the driver's name for it
  std::string product = {};
  // why there are no times; empty: there are
  std::string missing = {};
  BenchReport report = {};
  // the largest relative difference of an output from those of the first device that has times;
  // nullopt: no output is compared
  std::optional<double> difference = {};
};

// The measurement for a comparison with another one.
Measurement measurement_of(const BenchReport& report);

std::string bench_text(const BenchReport& report);
std::string bench_json(const BenchReport& report);
std::string bench_csv(const BenchReport& report);

// The same of --device all.
std::string bench_text(std::span<const DeviceRow> rows);
std::string bench_json(std::span<const DeviceRow> rows);
std::string bench_csv(std::span<const DeviceRow> rows);

}  // namespace gantry::cli
