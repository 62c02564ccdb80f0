// SPDX-License-Identifier: Apache-2.0
//
// Compares computed with expected arrays: bit for bit, or with a tolerance,
// |found - expected| <= atol + rtol * |expected|.
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
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
  // borrowed; the size follows from dtype and shape
  std::span<const std::uint8_t> bytes;

  std::uint64_t element_count() const {
    std::uint64_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::uint64_t>(extent);
    return count;
  }
};

// Compares one array. Elements with the same bits are equal, including NaN; without a tolerance,
// all other elements differ.
//
// returns  invalid, reason DIFFERENT  the type, the shape or elements differ; for elements the text
//                                     has the index and both values of the first difference, the
//                                     number of differences and the largest one
//          unsupported                a tolerance for elements that are not numbers of 8, 16, 32 or
//                                     64 bits
Status compare(const ArrayView& found, const ArrayView& expected, Tolerance tolerance);

// Compares two sets of arrays by name; a name that only one set contains is a difference. An expected array without a name, as a .npy
// file has, is compared with the only one that was found.
Status compare_all(std::span<const ArrayView> found, std::span<const ArrayView> expected,
                   Tolerance tolerance);

// Returns the largest relative difference of an element; expected values below 1e-6 count as 1e-6, and
// a NaN in one of the arrays as infinite.
//
// returns  nullopt  another type or shape, or elements that are not numbers
std::optional<double> largest_difference(const ArrayView& found, const ArrayView& expected);

}  // namespace gantry::cli
