// SPDX-License-Identifier: Apache-2.0
//
// Measures a loaded model on its devices.
//
//     first run   further warm-up   steady runs: their times | the devices' clocks | the operators
//     |-----------|-----------------|------------------------|---------------------|-------------|
//     recorded      not recorded      not recorded             not recorded          recorded
//
// The last steady runs, at most ten of each kind, have the times of the devices and of the operators:
// measuring these takes time, which would be part of the others. The runtime records spans all the
// time, which costs an untraced run a few nanoseconds a call.
#pragma once

#include "tools/gantry/bench_report.hpp"
#include "tools/gantry/cpu_array.hpp"
#include "tools/gantry/model_input.hpp"
#include "tools/gantry/model_weights.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct BenchPlan {
  // of a virtual machine; empty: its only function or "main"
  std::string function;
  bool capture = false;
  // runs before the steady ones, the first among them; at least 1
  std::size_t warmup = 1;
  // steady runs; 0: as many as fit into `seconds`
  std::size_t repeat = 0;
  // nullopt: one second, and at least 20 runs
  std::optional<double> seconds = {};
  // numbers of threads that run the model at once, each as long as the steady runs
  std::vector<int> at_once = {};
  // in a run; 0: the first extent of the first input
  std::uint64_t items = 0;
};

// What is measured.
struct BenchedModel {
  // records spans
  Runtime runtime;
  Module module;
  // NULL: none
  const ModelWeights* weights = nullptr;
  // Returns the inputs that have no value.
  std::function<Result<std::vector<ModelInput>>(const Session&, const InputValues&)> inputs;
  // empty: cannot be cancelled
  Task task = {};
};

// Measures the model on devices. With a virtual machine, on each of them.
//
// devices  [in]   at least one
// check    [in]   called before the first run with what is measured; an error ends the measurement.
//                 May be empty
// outputs  [out]  of the first run; NULL: not needed
// report   [in,out] has the members of the load
Status measure(const BenchedModel& model, const BenchPlan& plan,
               std::span<const std::string> devices, bool quiet,
               const std::function<Status(const BenchReport&)>& check, BenchReport& report,
               std::vector<CpuArray>* outputs = nullptr);

}  // namespace gantry::cli
