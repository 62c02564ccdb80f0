// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/statistics.hpp"

#include "tests/unit/cli/recorded_times.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;

TEST(Statistics, AreComputedFromUnsortedValues) {
  std::vector<double> values(200);
  std::iota(values.rbegin(), values.rend(), 1);

  const Statistics found = statistics_of(values);

  EXPECT_EQ(found.min, 1);
  EXPECT_EQ(found.p25, 50);
  EXPECT_EQ(found.median, 100.5);
  EXPECT_EQ(found.p75, 150);
  EXPECT_EQ(found.p90, 180);
  EXPECT_EQ(found.p95, 190);
  EXPECT_EQ(found.p99, 198);
  EXPECT_EQ(found.max, 200);
  EXPECT_EQ(found.spread(), 100 / 100.5);
}

TEST(Statistics, OfOneValueAreThatValue) {
  const Statistics found = statistics_of({7});

  EXPECT_EQ(found.p25, 7);
  EXPECT_EQ(found.median, 7);
  EXPECT_EQ(found.p99, 7);
  EXPECT_EQ(found.spread(), 0);
  EXPECT_EQ(statistics_of({0, 0}).spread(), 0);
}

TEST(RunTimes, AreExactAsLongAsAllAreStored) {
  RunTimes times;
  for (int i = 200; i > 0; --i) times.add(i);

  EXPECT_EQ(times.count(), 200u);
  EXPECT_EQ(times.first(), 200);
  EXPECT_EQ(times.mean(), 100.5);
  EXPECT_EQ(times.statistics().min, 1);
  EXPECT_EQ(times.statistics().median, 100.5);
  EXPECT_EQ(times.statistics().p99, 198);
  EXPECT_EQ(times.statistics().max, 200);
}

// Values that increase: a sample of the first or of the last ones would show.
TEST(RunTimes, OfManyRunsAreASampleInConstantMemory) {
  RunTimes times;
  constexpr int count = 1'000'000;
  for (int i = 0; i < count; ++i) times.add(i);

  EXPECT_EQ(times.stored_count(), RunTimes::max_stored);
  EXPECT_EQ(times.count(), static_cast<std::size_t>(count));
  EXPECT_EQ(times.first(), 0);
  EXPECT_EQ(times.mean(), (count - 1) / 2.0);
  EXPECT_EQ(times.statistics().min, 0);
  EXPECT_EQ(times.statistics().max, count - 1);
  // 10 standard deviations of a sample.
  EXPECT_NEAR(times.statistics().median, count * 0.5, count * 0.02);
  EXPECT_NEAR(times.statistics().p99, count * 0.99, count * 0.004);
}

TEST(RunTimes, OfSeveralThreadsAreAdded) {
  RunTimes all, other;
  all.add(4);
  other.add(2);
  other.add(9);

  all.add(other);
  all.add(RunTimes());

  EXPECT_EQ(all.count(), 3u);
  EXPECT_EQ(all.mean(), 5);
  EXPECT_EQ(all.statistics().median, 4);
  EXPECT_EQ(all.statistics().max, 9);
}

TEST(RunTimes, HaveASampleOfEqualDistances) {
  RunTimes times;
  for (int i = 0; i < 10; ++i) times.add(i);

  EXPECT_THAT(times.sample(4), ElementsAre(0, 2, 5, 7));
  EXPECT_EQ(times.sample(10).size(), 10u);
  EXPECT_EQ(times.sample(99).size(), 10u);
}

TEST(RatioOfMedians, RequiresSixValuesOfEach) {
  const std::vector<double> five(5, 1.0), six(6, 1.0), zero(6, 0.0);

  EXPECT_FALSE(ratio_of_medians(five, six));
  EXPECT_FALSE(ratio_of_medians(six, five));
  EXPECT_FALSE(ratio_of_medians(six, zero));
  EXPECT_TRUE(ratio_of_medians(six, six));
}

// Without noise, the interval has no length.
TEST(RatioOfMedians, OfConstantsIsExact) {
  const std::vector<double> two(7, 2.0), three(8, 3.0);

  const auto ratio = ratio_of_medians(three, two);

  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->value, 1.5);
  EXPECT_EQ(ratio->low, 1.5);
  EXPECT_EQ(ratio->high, 1.5);
}

// Of 200 pairs of samples of one distribution, the interval contains 1 in about 190; 5 standard
// deviations are 15.
TEST(RatioOfMedians, HasAnIntervalThatContains1In95Percent) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> times(3, 0.2);
  int contained = 0;
  for (int i = 0; i < 200; ++i) {
    const std::size_t size = i % 2 == 0 ? 41 : 60;
    std::vector<double> a(size), b(size);
    for (double& each : a) each = times(random);
    for (double& each : b) each = times(random);
    const Ratio ratio = ratio_of_medians(a, b).value();
    EXPECT_LE(ratio.low, ratio.value);
    EXPECT_GE(ratio.high, ratio.value);
    contained += ratio.low <= 1 && ratio.high >= 1;
  }
  EXPECT_NEAR(contained, 190, 15);
}

TEST(Change, IsAbove2PercentAndOutsideOfTheNoise) {
  const struct {
    Ratio ratio;
    Change change;
  } cases[] = {
      {{1.05, 1.03, 1.07}, Change::more}, {{0.90, 0.88, 0.92}, Change::less},
      {{1.05, 0.99, 1.11}, Change::none}, {{0.95, 0.90, 1.00}, Change::none},
      {{1.02, 1.01, 1.03}, Change::none}, {{0.98, 0.97, 0.99}, Change::none},
      {{1.00, 1.00, 1.00}, Change::none},
  };
  for (const auto& one : cases)
    EXPECT_EQ(change_of(one.ratio), one.change) << one.ratio.value << " " << one.ratio.low;
}

// Measured with `gantry bench`, see recorded_times.hpp.
TEST(Change, OfRecordedTimesIsTheirs) {
  const auto change = [](std::span<const double> now, std::span<const double> before) {
    return change_of(ratio_of_medians(now, before).value());
  };

  const auto slowed = [](double factor) {
    std::vector<double> times(std::begin(c_code_again), std::end(c_code_again));
    for (double& time : times) time *= factor;
    return times;
  };

  EXPECT_EQ(change(llvm_code, c_code), Change::less);
  EXPECT_EQ(change(c_code, llvm_code), Change::more);
  EXPECT_EQ(change(c_code_again, c_code), Change::none);
  EXPECT_EQ(change(c_code, c_code_again), Change::none);
  EXPECT_EQ(change(slowed(1.1), c_code), Change::more);
  EXPECT_EQ(change(slowed(1.015), c_code_again), Change::none);
}

TEST(Histogram, CountsUpToThe99thPercentile) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(10 + i % 10);
  values.push_back(1000);

  const Histogram found = histogram_of(values, 3);

  EXPECT_EQ(found.low, 10);
  EXPECT_EQ(found.high, 19);
  EXPECT_THAT(found.counts, ElementsAre(30, 30, 40));
}

TEST(Histogram, OfEqualValuesHasOneInterval) {
  const std::vector<double> values(5, 3.0);

  EXPECT_THAT(histogram_of(values, 4).counts, ElementsAre(5, 0, 0, 0));
}

}  // namespace
}  // namespace gantry::cli
