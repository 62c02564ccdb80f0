// SPDX-License-Identifier: Apache-2.0
//
// Statistics of repeated measurements.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <random>
#include <vector>

namespace gantry::cli {

struct Statistics {
  double min = 0;
  double median = 0;
  // nearest rank: the smallest measured value that at least 99 % of the values do not exceed
  double p99 = 0;
  double max = 0;
};

// Precondition: not empty.
inline Statistics statistics_of(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  const double middle = values[count / 2];
  return {values.front(), count % 2 == 1 ? middle : (values[count / 2 - 1] + middle) / 2,
          values[(count * 99 + 99) / 100 - 1], values.back()};
}

// The times of any number of runs in constant memory. Up to max_stored of them are stored; of more,
// a uniform random sample, from which median and p99 are computed.
class RunTimes {
 public:
  static constexpr std::size_t max_stored = 1 << 16;

  void add(double time) {
    if (count_ == 0) first_ = min_ = max_ = time;
    min_ = std::min(min_, time);
    max_ = std::max(max_, time);
    ++count_;
    if (stored_.size() < max_stored) {
      stored_.push_back(time);
      return;
    }
    // Vitter's algorithm R.
    const std::size_t at = std::uniform_int_distribution<std::size_t>(0, count_ - 1)(random_);
    if (at < max_stored) stored_[at] = time;
  }
  std::size_t count() const { return count_; }
  std::size_t stored_count() const { return stored_.size(); }
  // Precondition for both: count() > 0.
  double first() const { return first_; }
  Statistics statistics() const {
    Statistics found = statistics_of(stored_);
    found.min = min_;
    found.max = max_;
    return found;
  }

 private:
  std::size_t count_ = 0;
  double first_ = 0, min_ = 0, max_ = 0;
  std::vector<double> stored_;
  std::minstd_rand random_;
};

}  // namespace gantry::cli
