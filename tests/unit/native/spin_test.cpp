// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/spin.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr SpinLimits kLimits{microseconds(400), 1};

TEST(Spin, PausesThenYieldsThenSleeps) {
  EXPECT_EQ(next_step(nanoseconds(0), 1, kLimits), WaitStep::pause);
  EXPECT_EQ(next_step(nanoseconds(49'999), 1, kLimits), WaitStep::pause);
  EXPECT_EQ(next_step(nanoseconds(50'000), 1, kLimits), WaitStep::yield);
  EXPECT_EQ(next_step(nanoseconds(399'999), 1, kLimits), WaitStep::yield);
  EXPECT_EQ(next_step(nanoseconds(400'000), 1, kLimits), WaitStep::sleep);
}

TEST(Spin, YieldsAtOnceIfTooManyThreadsSpin) {
  EXPECT_EQ(next_step(nanoseconds(0), 2, kLimits), WaitStep::yield);
  EXPECT_EQ(next_step(nanoseconds(0), 1, {microseconds(400), 0}), WaitStep::yield);
  EXPECT_EQ(next_step(nanoseconds(0), 2, {microseconds(400), 2}), WaitStep::pause);
}

TEST(Spin, SleepsAtOnceWithoutAWindow) {
  EXPECT_EQ(next_step(nanoseconds(0), 1, {microseconds(0), 1}), WaitStep::sleep);
}

TEST(Spin, CountsTheThreadsThatSpin) {
  const std::int32_t before = spinning_threads();
  const SpinLimits limits{hours(1), 1};
  {
    Spin spin(limits);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(spin.again());
    EXPECT_EQ(spinning_threads(), before + 1);
  }
  EXPECT_EQ(spinning_threads(), before);
}

TEST(Spin, EndsIfItsWindowHasPassed) {
  const SpinLimits limits{nanoseconds(0), 1};
  Spin spin(limits);
  int calls = 1;
  while (calls < 100 && spin.again()) ++calls;

  EXPECT_LT(calls, 100);
}

}  // namespace
}  // namespace gantry
