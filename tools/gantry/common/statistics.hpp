// SPDX-License-Identifier: Apache-2.0
//
// Statistics of repeated measurements.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
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

}  // namespace gantry::cli
