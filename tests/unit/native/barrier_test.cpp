// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/barrier.hpp"

#include "tests/unit/native/sleepers_held.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gantry {
namespace {

// With the window of the limits the thread would spin for an hour.
TEST(Barrier, LetsAThreadSleepWhileAnotherIsLate) {
  const SpinLimits limits{std::chrono::hours(1), 1};
  Barrier barrier(limits);
  barrier.reset(2);
  std::atomic<bool> passed{false};
  std::thread early;
  {
    const test::SleepersHeld held;
    early = std::thread([&] {
      barrier.arrive();
      passed = true;
    });
    test::SleepersHeld::wait_for(1);
  }
  EXPECT_FALSE(passed);

  barrier.arrive();

  early.join();
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace gantry
