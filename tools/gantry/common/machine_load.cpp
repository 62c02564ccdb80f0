// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/machine_load.hpp"

#include <gantry/concat.hpp>

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

namespace gantry::cli {
namespace {

std::optional<std::chrono::nanoseconds> busy_time_now() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return busy_time(line);
}

std::chrono::nanoseconds own_time_now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

std::optional<std::chrono::nanoseconds> busy_time(std::string_view proc_stat) {
  const std::string line(proc_stat.substr(0, proc_stat.find('\n')));
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  const int read = std::sscanf(line.c_str(),
                               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                               " %" SCNu64 " %" SCNu64,
                               &user, &nice, &system, &idle, &iowait, &irq, &softirq);
  if (read != 7) return std::nullopt;
  const std::uint64_t ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::nanoseconds((user + nice + system + irq + softirq) * 1'000'000'000 /
                                  ticks_per_second);
}

MachineLoad::MachineLoad()
    : start_(std::chrono::steady_clock::now()), busy_(busy_time_now()), own_(own_time_now()) {}

std::optional<double> MachineLoad::other_cpus() const {
  const auto busy = busy_time_now();
  const auto wall = std::chrono::steady_clock::now() - start_;
  if (!busy || !busy_ || wall.count() <= 0) return std::nullopt;
  const auto others = (*busy - *busy_) - (own_time_now() - own_);
  return std::max(0.0, static_cast<double>(others.count()) / static_cast<double>(wall.count()));
}

std::string threads_text(int threads, int cpus, std::optional<double> other_cpus) {
  const std::string text = concat(threads, " on ", cpus, cpus == 1 ? " CPU" : " CPUs");
  // Short-lived processes of the system use less than a quarter of a CPU.
  if (!other_cpus || threads + *other_cpus < cpus + 0.25) return text;
  char others[16];
  std::snprintf(others, sizeof others, "%.1f", *other_cpus);
  return concat(text, "; other processes used ", others,
                " CPUs: on an idle machine the times are shorter");
}

}  // namespace gantry::cli
