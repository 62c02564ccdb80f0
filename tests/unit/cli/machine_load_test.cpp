// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/machine_load.hpp"

#include "tools/gantry/common/process_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gantry::cli {
namespace {

using namespace std::chrono_literals;

// user, nice, system, idle, iowait, irq, softirq, steal; 100 ticks are a second.
TEST(BusyTime, AddsAllButIdleAndWaiting) {
  EXPECT_EQ(busy_time("cpu  100 200 300 99999 88888 400 500 77777 0 0\ncpu0 1 1 1 1 1 1 1\n"), 15s);
}

TEST(BusyTime, IsUnknownForAnotherForm) {
  EXPECT_EQ(busy_time(""), std::nullopt);
  EXPECT_EQ(busy_time("cpu  1 2 3 4 5 6\n"), std::nullopt);
  EXPECT_EQ(busy_time("intr 1 2 3 4 5 6 7 8\n"), std::nullopt);
}

TEST(MachineLoad, DoesNotCountThisProcess) {
  const MachineLoad load;
  const auto end = std::chrono::steady_clock::now() + 100ms;
  while (std::chrono::steady_clock::now() < end) {
  }
  const auto others = load.other_cpus();

  ASSERT_TRUE(others.has_value());
  EXPECT_GE(*others, 0);
}

// In bytes, as the system reports it in another unit.
TEST(ProcessMemory, HasTheNumbersOfTheSystem) {
  rusage usage{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  const double peak = static_cast<double>(usage.ru_maxrss) * 1024;

  const ProcessMemory memory = process_memory();

  EXPECT_NEAR(static_cast<double>(memory.peak), peak, peak / 4);
  EXPECT_LE(memory.resident, memory.peak + (1 << 20));
  EXPECT_LE(memory.resident_anonymous + memory.resident_file, memory.resident + (1 << 20));
  EXPECT_GT(memory.resident_anonymous, 0u);
  EXPECT_GT(memory.resident_file, 0u);
}

TEST(ThreadsText, MentionsOtherProcessesThatLeaveFewerCpusThanThreads) {
  EXPECT_EQ(threads_text(2, 4, 2.2), "2 on 4 CPUs");
  EXPECT_EQ(threads_text(2, 4, 2.3),
            "2 on 4 CPUs; other processes used 2.3 CPUs: on an idle machine the times are shorter");
}

TEST(ThreadsText, MentionsNoOtherProcessesIfTheirUseIsUnknown) {
  EXPECT_EQ(threads_text(1, 1, std::nullopt), "1 on 1 CPU");
}

}  // namespace
}  // namespace gantry::cli
