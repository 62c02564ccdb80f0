// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gantry::cli {
namespace {

double median_of(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double percentile_of(std::span<const double> sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::ranges::sort(copy);
  return copy;
}

using Random = std::mt19937_64;

// The median of a random sample of the values with replacement, of their number. Drawing it from its
// distribution is as good as drawing the sample: the middle of n uniform numbers has a beta
// distribution, which is one of ratios of sums of exponential numbers.
double resampled_median(std::span<const double> sorted, Random& random) {
  const auto sum = [&](std::size_t terms) {
    return std::gamma_distribution<double>(static_cast<double>(terms), 1.0)(random);
  };
  const auto at = [&](double uniform) {
    const auto index = static_cast<std::size_t>(uniform * static_cast<double>(sorted.size()));
    return sorted[std::min(index, sorted.size() - 1)];
  };
  const std::size_t size = sorted.size(), rank = (size + 1) / 2;
  const double below = sum(rank);
  if (size % 2 == 1) return at(below / (below + sum(size + 1 - rank)));
  const double between = sum(1);
  const double all = below + between + sum(size - rank);
  return (at(below / all) + at((below + between) / all)) / 2;
}

}  // namespace

Statistics statistics_of(std::vector<double> values) {
  assert(!values.empty());
  std::ranges::sort(values);
  return {.min = values.front(),
          .p25 = percentile_of(values, 25),
          .median = median_of(values),
          .p75 = percentile_of(values, 75),
          .p90 = percentile_of(values, 90),
          .p95 = percentile_of(values, 95),
          .p99 = percentile_of(values, 99),
          .max = values.back()};
}

void RunTimes::add(double time) {
  if (count_ == 0) first_ = min_ = max_ = time;
  min_ = std::min(min_, time);
  max_ = std::max(max_, time);
  sum_ += time;
  ++count_;
  if (stored_.size() < max_stored) {
    stored_.push_back(time);
    return;
  }
  // Vitter's algorithm R.
  const std::size_t at = std::uniform_int_distribution<std::size_t>(0, count_ - 1)(random_);
  if (at < max_stored) stored_[at] = time;
}

void RunTimes::add(const RunTimes& other) {
  if (other.count_ == 0) return;
  const double sum = sum_ + other.sum_;
  const std::size_t count = count_ + other.count_;
  for (const double time : other.stored_) add(time);
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ = sum;
  count_ = count;
}

Statistics RunTimes::statistics() const {
  Statistics found = statistics_of(stored_);
  found.min = min_;
  found.max = max_;
  return found;
}

std::vector<double> RunTimes::sample(std::size_t max) const {
  if (stored_.size() <= max) return stored_;
  std::vector<double> sample;
  for (std::size_t i = 0; i < max; ++i) sample.push_back(stored_[i * stored_.size() / max]);
  return sample;
}

std::optional<Ratio> ratio_of_medians(std::span<const double> now, std::span<const double> before) {
  if (std::min(now.size(), before.size()) < min_compared) return std::nullopt;
  const std::vector<double> above = sorted(now), below = sorted(before);
  if (median_of(below) <= 0) return std::nullopt;
  constexpr std::size_t resamples = 2000;
  // always the same numbers, so that the same measurements have the same interval
  Random random(1);
  std::vector<double> ratios;
  while (ratios.size() < resamples) {
    const double divisor = resampled_median(below, random);
    const double ratio = resampled_median(above, random);
    ratios.push_back(divisor > 0 ? ratio / divisor : HUGE_VAL);
  }
  std::ranges::sort(ratios);
  return Ratio{median_of(above) / median_of(below), ratios[resamples / 40],
               ratios[resamples - 1 - resamples / 40]};
}

Change change_of(const Ratio& ratio) {
  constexpr double least = 0.02;
  if (ratio.low > 1 && ratio.value > 1 + least) return Change::more;
  if (ratio.high < 1 && ratio.value < 1 - least) return Change::less;
  return Change::none;
}

Histogram histogram_of(std::span<const double> values, std::size_t count) {
  assert(!values.empty() && count != 0);
  const Statistics all = statistics_of({values.begin(), values.end()});
  Histogram histogram{all.min, all.p99, std::vector<std::size_t>(count)};
  const double length = histogram.high - histogram.low;
  for (const double value : values) {
    if (value > histogram.high) continue;
    const double place =
        length > 0 ? (value - histogram.low) / length * static_cast<double>(count) : 0;
    ++histogram.counts[std::min(static_cast<std::size_t>(place), count - 1)];
  }
  return histogram;
}

}  // namespace gantry::cli
