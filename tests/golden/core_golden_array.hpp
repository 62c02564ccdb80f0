// SPDX-License-Identifier: Apache-2.0
//
// Inputs and outputs that were recorded with TVM, and their differences from those of a run.
#pragma once

#include "tests/support/core_runtime.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

namespace gantry::test {

// Returns a tensor of a file below the golden files.
inline Tensor golden_array(Runtime& runtime, const std::string& file, std::string_view member) {
  auto tensors = runtime.read_tensors(golden(file).string());
  EXPECT_TRUE(tensors.ok()) << tensors.error().message;
  for (auto& [name, tensor] : *tensors) {
    if (name == member) return tensor;
  }
  ADD_FAILURE() << file << " has no " << member;
  return {};
}

// Returns the largest difference of two lists of one size; infinity if one is NaN.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (std::isnan(difference)) return INFINITY;
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace gantry::test
