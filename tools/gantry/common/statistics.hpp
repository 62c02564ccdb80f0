// SPDX-License-Identifier: Apache-2.0
//
// Statistics of repeated measurements. Pure functions of the measured values.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace gantry::cli {

// Percentiles are of the nearest rank: the smallest measured value that at least that share of the
// values does not exceed. The median of an even number of values is the mean of the middle two.
struct Statistics {
  double min = 0, p25 = 0, median = 0, p75 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;

  // How far the middle half of the values extends, as a share of the median; 0 if that is 0.
  double spread() const { return median > 0 ? (p75 - p25) / median : 0; }
};

// Precondition: not empty.
Statistics statistics_of(std::vector<double> values);

// The times of any number of runs in constant memory. Up to max_stored of them are stored; of more,
// a uniform random sample, from which the percentiles are computed.
class RunTimes {
 public:
  static constexpr std::size_t max_stored = 1 << 16;

  void add(double time);
  // Adds the stored times of another one, and its number of runs.
  void add(const RunTimes& other);

  std::size_t count() const { return count_; }
  std::size_t stored_count() const { return stored_.size(); }
  // Precondition for all: count() > 0.
  double first() const { return first_; }
  double mean() const { return sum_ / static_cast<double>(count_); }
  Statistics statistics() const;
  // Returns at most `max` of the stored times, at equal distances in the order in which they were
  // added.
  std::vector<double> sample(std::size_t max) const;

 private:
  std::size_t count_ = 0;
  double first_ = 0, min_ = 0, max_ = 0, sum_ = 0;
  std::vector<double> stored_;
  std::minstd_rand random_;
};

// A ratio, and the interval that contains the true one with a probability of 95 %.
struct Ratio {
  double value = 1, low = 1, high = 1;
};

// The smallest number of values of which the median has an interval of 95 %: the probability that all
// of n values are on one side of it is 2 / 2^n.
constexpr std::size_t min_compared = 6;

// Returns the ratio of the median of `now` to that of `before`, with the percentile interval of a
// bootstrap. The values are taken as independent: a slow change of the machine's speed between two
// measurements is not part of the interval.
//
// returns  nullopt  fewer than min_compared values, or a median of 0
// costs    O(n log n)
// source   B. Efron, R. Tibshirani, An Introduction to the Bootstrap, chapter 13
std::optional<Ratio> ratio_of_medians(std::span<const double> now, std::span<const double> before);

enum class Change { none, less, more };

// A change is one of more than 2 % whose interval excludes 1.
Change change_of(const Ratio& ratio);

// How many values are in each of a number of intervals of the same length.
struct Histogram {
  // The first interval begins at `low`, the last one ends at `high` and contains it.
  double low = 0, high = 0;
  std::vector<std::size_t> counts;
};

// Returns a histogram from the smallest value to the 99th percentile, without the values above it:
// a single long run would leave all others in one interval.
//
// values   [in]   not empty
// count    [in]   of intervals, at least 1
Histogram histogram_of(std::span<const double> values, std::size_t count);

}  // namespace gantry::cli
