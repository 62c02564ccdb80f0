// SPDX-License-Identifier: Apache-2.0
//
// Is what was computed what was expected? Exactly, or |found - expected| <= atol + rtol * |expected|.
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
  bool exact() const { return rtol == 0 && atol == 0; }
};

// An array in CPU memory, compact, row-major.
struct ArrayView {
  std::string name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // borrowed; as many as dtype and shape say
  std::span<const std::uint8_t> bytes;
};

// Compares one array. Elements with the same bits are equal whatever they are, NaN included; without
// a tolerance only those are.
//
// returns  invalid, reason DIFFERENT: another type, another shape, or elements: the first one's
//          index, found and expected, how many differ, the largest differences
//          unsupported: a tolerance for elements that are no numbers of 8, 16, 32 or 64 bits
Status compare(const ArrayView& found, const ArrayView& expected, Tolerance tolerance);

// Compares two sets by name; a name that only one of them has is a difference.
Status compare_all(std::span<const ArrayView> found, std::span<const ArrayView> expected,
                   Tolerance tolerance);

}  // namespace gantry::cli
