// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/compare.hpp"

#include "tools/gantry/common/element_value.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gantry::cli {
namespace {

// The differences between the elements of two arrays of the same type and shape.
struct Difference {
  std::uint64_t elements = 0;
  std::uint64_t different = 0;
  // index of the first different element, in row-major order
  std::uint64_t first = 0;
  // largest absolute difference
  long double absolute = 0;
  // largest difference relative to |expected|; infinite if that is 0
  long double relative = 0;
};

// The larger value; NaN counts as larger than any number, so that it is always reported.
long double larger(long double a, long double b) { return std::isnan(a) || a > b ? a : b; }

Difference find_difference(const ArrayView& found, const ArrayView& expected,
                           std::optional<ElementReader> reader, Tolerance tolerance) {
  const std::uint64_t size = element_bytes(found.dtype);
  Difference difference{.elements = found.element_count()};
  std::vector<std::uint8_t> room_of_a, room_of_b;
  for (std::uint64_t i = 0; i < difference.elements; ++i) {
    const std::uint8_t* const a = element_at(found.bytes, found.dtype, i, room_of_a);
    const std::uint8_t* const b = element_at(expected.bytes, found.dtype, i, room_of_b);
    if (std::memcmp(a, b, size) == 0) continue;
    if (reader) {
      const long double exact = (*reader)(b);
      const long double apart = std::fabs((*reader)(a)-exact);
      const long double allowed =
          tolerance.atol + static_cast<long double>(tolerance.rtol) * std::fabs(exact);
      if (!tolerance.exact() && apart <= allowed) continue;
      difference.absolute = larger(apart, difference.absolute);
      difference.relative = larger(apart == 0 ? 0 : apart / std::fabs(exact), difference.relative);
    }
    if (difference.different++ == 0) difference.first = i;
  }
  return difference;
}

std::string index_text(std::uint64_t element, std::span<const std::int64_t> shape) {
  std::vector<std::uint64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = element % static_cast<std::uint64_t>(shape[i]);
    element /= static_cast<std::uint64_t>(shape[i]);
  }
  return concat("[", join(index), "]");
}

std::string short_number(long double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.4Lg", value);
  return text;
}

Error different(std::string text) { return invalid(text).with_reason("DIFFERENT"); }

}  // namespace

Status compare(const ArrayView& found, const ArrayView& expected, Tolerance tolerance) {
  if (!same_dtype(found.dtype, expected.dtype) || found.shape != expected.shape) {
    return different(concat(quoted(found.name), " is ", type_text(found.dtype, found.shape),
                            ", expected ", type_text(expected.dtype, expected.shape)));
  }
  const auto reader = element_reader(found.dtype);
  if (!reader && !tolerance.exact()) {
    return unsupported(quoted(found.name), " is ", dtype_text(found.dtype),
                       ", which cannot be compared with a tolerance");
  }
  const Difference difference = find_difference(found, expected, reader, tolerance);
  if (difference.different == 0) return {};

  std::vector<std::uint8_t> room;
  const auto text_in = [&](const ArrayView& array) {
    return element_text(element_at(array.bytes, found.dtype, difference.first, room), found.dtype);
  };
  std::string text =
      concat(quoted(found.name), " differs at ", index_text(difference.first, found.shape),
             ": found ", text_in(found), ", expected ", text_in(expected), "; ",
             difference.different, " of ", difference.elements, " elements differ");
  if (reader) {
    text += concat(", by at most ", short_number(difference.absolute), " absolute and ",
                   short_number(difference.relative), " relative");
  }
  if (!tolerance.exact()) {
    text += concat(" (rtol ", tolerance.rtol, ", atol ", tolerance.atol, ")");
  }
  return different(std::move(text));
}

std::optional<double> largest_difference(const ArrayView& found, const ArrayView& expected) {
  constexpr long double min = 1e-6L;
  const auto reader = element_reader(found.dtype);
  if (!reader || !same_dtype(found.dtype, expected.dtype) || found.shape != expected.shape)
    return std::nullopt;
  long double largest = 0;
  std::vector<std::uint8_t> room;
  for (std::uint64_t i = 0; i < found.element_count(); ++i) {
    const long double a = (*reader)(element_at(found.bytes, found.dtype, i, room));
    const long double b = (*reader)(element_at(expected.bytes, found.dtype, i, room));
    if (std::isnan(a) != std::isnan(b)) return HUGE_VAL;
    if (std::isnan(a) || a == b) continue;
    largest = larger(std::fabs(a - b) / std::max(std::fabs(b), min), largest);
  }
  return static_cast<double>(largest);
}

Status compare_all(std::span<const ArrayView> found, std::span<const ArrayView> expected,
                   Tolerance tolerance) {
  const auto names = [](std::span<const ArrayView> arrays) {
    return arrays.empty()
               ? "none"
               : join(arrays, ", ", [](const ArrayView& array) { return quoted(array.name); });
  };
  const auto by_name = [](std::span<const ArrayView> arrays, const std::string& name) {
    return std::find_if(arrays.begin(), arrays.end(),
                        [&](const ArrayView& array) { return array.name == name; });
  };
  // A .npy file has no name: it is that of the only output, which --output writes.
  if (expected.size() == 1 && expected[0].name.empty()) {
    if (found.size() == 1) return compare(found[0], expected[0], tolerance);
    return different(concat(
        "the expected array has no name, as a .npy file has none, outputs are: ", names(found)));
  }
  for (const ArrayView& array : found) {
    if (by_name(expected, array.name) == expected.end()) {
      return different(concat(quoted(array.name), " is not expected, expected: ", names(expected)));
    }
  }
  for (const ArrayView& array : expected) {
    const auto match = by_name(found, array.name);
    if (match == found.end()) {
      return different(
          concat(quoted(array.name), " is expected and missing, found: ", names(found)));
    }
    GANTRY_CHECK(compare(*match, array, tolerance));
  }
  return {};
}

}  // namespace gantry::cli
