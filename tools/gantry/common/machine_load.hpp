// SPDX-License-Identifier: Apache-2.0
//
// How busy the machine is besides this process.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace gantry::cli {

// Returns the time that all CPUs of the machine have worked since it started, from the text of
// /proc/stat; nullopt if the text has another form.
//
// source   proc(5); idle and waiting for input or output is no work
std::optional<std::chrono::nanoseconds> busy_time(std::string_view proc_stat);

// Measures from its creation.
class MachineLoad {
 public:
  MachineLoad();
  // Returns the number of CPUs that other processes used on average, at least 0; nullopt if the
  // system does not report it. Resolution: 10 ms of CPU time.
  std::optional<double> other_cpus() const;

 private:
  std::chrono::steady_clock::time_point start_;
  std::optional<std::chrono::nanoseconds> busy_;
  std::chrono::nanoseconds own_;
};

// Returns "2 on 2 CPUs", and a sentence if other processes left fewer CPUs than threads.
//
// cpus     [in]   that this process may use
std::string threads_text(int threads, int cpus, std::optional<double> other_cpus);

}  // namespace gantry::cli
