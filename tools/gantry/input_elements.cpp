// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/input_elements.hpp"

#include "tools/gantry/common/element_value.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/half.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace gantry::cli {
namespace {

bool is_float(gantry_dtype dtype) {
  return dtype.code == static_cast<std::uint8_t>(TypeCode::float_) ||
         dtype.code == static_cast<std::uint8_t>(TypeCode::bfloat);
}

struct IntegerRange {
  Number min, max;
};

IntegerRange limits_of(gantry_dtype dtype) {
  if (dtype.code == static_cast<std::uint8_t>(TypeCode::bool_)) return {0, 1};
  if (dtype.code == static_cast<std::uint8_t>(TypeCode::int_)) {
    const Number half = std::ldexp(Number{1}, dtype.bits - 1);
    return {-half, half - 1};
  }
  return {0, std::ldexp(Number{1}, dtype.bits) - 1};
}

std::uint64_t bfloat_bits(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (std::isnan(number)) return bits >> 16 | 0x40;
  // to nearest, ties to even
  return (std::uint64_t{bits} + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// Modulo 2^64. Precondition: an integer of 64 bits.
std::uint64_t bits_of_integer(Number number) {
  return number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                    : static_cast<std::uint64_t>(number);
}

// The bits of an element; nullopt: the type has no such number. Precondition: the type has an
// element_reader().
std::optional<std::uint64_t> bits_of(Number number, gantry_dtype dtype) {
  if (!is_float(dtype)) {
    const IntegerRange range = limits_of(dtype);
    if (std::isnan(number) || number != std::floor(number)) return std::nullopt;
    if (number < range.min || number > range.max) return std::nullopt;
    return bits_of_integer(number);
  }
  const auto value = static_cast<double>(number);
  std::uint64_t bits = 0;
  if (dtype.code == static_cast<std::uint8_t>(TypeCode::bfloat)) {
    bits = bfloat_bits(static_cast<float>(value));
  } else if (dtype.bits == 16) {
    bits = half_of(value);
  } else if (dtype.bits == 32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  } else {
    bits = std::bit_cast<std::uint64_t>(value);
  }
  std::uint8_t element[sizeof bits];
  std::memcpy(element, &bits, sizeof bits);
  const bool overflows = std::isfinite(number) && !std::isfinite((*element_reader(dtype))(element));
  return overflows ? std::nullopt : std::optional(bits);
}

// Elements are written in order, those below a byte into bytes that are 0 before.
class ElementWriter {
 public:
  explicit ElementWriter(const Tensor& tensor)
      : bytes_(static_cast<std::uint8_t*>(tensor.data())),
        dtype_(tensor.dtype()),
        packed_(is_packed(dtype_)) {
    std::memset(bytes_, 0, tensor.byte_size());
  }

  void write(std::uint64_t bits) {
    if (!packed_) {
      std::memcpy(bytes_ + next_++ * element_bytes(dtype_), &bits, element_bytes(dtype_));
      return;
    }
    for (int i = 0; i < dtype_.bits; ++i) {
      const std::uint64_t at = next_ * dtype_.bits + static_cast<std::uint64_t>(i);
      bytes_[at / 8] = static_cast<std::uint8_t>(bytes_[at / 8] | (bits >> i & 1) << at % 8);
    }
    ++next_;
  }

 private:
  std::uint8_t* bytes_;
  gantry_dtype dtype_;
  bool packed_;
  std::uint64_t next_ = 0;
};

std::uint64_t element_count(const Tensor& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : tensor.shape()) count *= static_cast<std::uint64_t>(extent);
  return count;
}

std::string numbers_of(gantry_dtype dtype) {
  if (is_float(dtype)) return concat("a number of ", dtype_text(dtype));
  const IntegerRange range = limits_of(dtype);
  return concat("an integer from ", static_cast<std::int64_t>(range.min), " to ",
                static_cast<std::uint64_t>(range.max));
}

Failure no_numbers(gantry_dtype dtype, std::string_view title) {
  return unsupported(title, " has elements of ", dtype_text(dtype),
                     ", which are no numbers: zeros and files set them");
}

FillValue::Range range_of(const FillValue& fill, bool is_float) {
  return fill.range.value_or(is_float ? FillValue::Range{-1, 1} : FillValue::Range{0, 2});
}

// A range of integers: `count` from `low` on.
struct Integers {
  Number low;
  // 0: 2^64
  std::uint64_t count;
};

std::optional<Integers> integers_in(const FillValue::Range& range, const IntegerRange& all) {
  const Number last = range.high - 1;
  if (range.low != std::floor(range.low) || last != std::floor(last) || range.low < all.min ||
      last > all.max)
    return std::nullopt;
  // Exact, also for 2^64.
  const Number count = range.high - range.low;
  const bool is_all = count == std::ldexp(Number{1}, 64);
  return Integers{range.low, is_all ? 0 : static_cast<std::uint64_t>(count)};
}

Failure bad_range(std::string_view title, std::string_view expected) {
  return invalid(title, ": LOW and HIGH of random are not in its type, expected LOW <= x < HIGH ",
                 "with ", expected);
}

Status fill_integers(const Tensor& tensor, const FillValue& fill, RandomNumbers& random,
                     std::string_view title) {
  const auto range = integers_in(range_of(fill, false), limits_of(tensor.dtype()));
  if (!range) return bad_range(title, numbers_of(tensor.dtype()));
  const std::uint64_t low = bits_of_integer(range->low);
  ElementWriter writer(tensor);
  for (std::uint64_t left = element_count(tensor); left > 0; --left)
    writer.write(low + random.below(range->count));
  return {};
}

Status fill_floats(const Tensor& tensor, const FillValue& fill, RandomNumbers& random,
                   std::string_view title) {
  const gantry_dtype dtype = tensor.dtype();
  const FillValue::Range range = range_of(fill, true);
  const bool is_finite = bits_of(range.low, dtype) && bits_of(range.high, dtype) &&
                         std::isfinite(static_cast<double>(range.high - range.low));
  if (!is_finite) return bad_range(title, numbers_of(dtype));
  const ElementReader read = *element_reader(dtype);
  ElementWriter writer(tensor);
  for (std::uint64_t left = element_count(tensor); left > 0; --left) {
    const double number = random_number(fill, random);
    std::uint64_t bits = *bits_of(number, dtype);
    std::uint8_t element[sizeof bits];
    std::memcpy(element, &bits, sizeof bits);
    const Number rounded = read(element);
    // Downwards, so that HIGH is excluded: the next number towards negative infinity.
    if (rounded > number || rounded >= range.high)
      bits = std::signbit(rounded) ? bits + 1 : bits - 1;
    writer.write(bits);
  }
  return {};
}

}  // namespace

RandomNumbers::RandomNumbers(std::uint64_t seed, std::size_t input, std::size_t item) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(input), static_cast<std::uint32_t>(item)};
  generator_.seed(words);
}

double random_number(const FillValue& fill, RandomNumbers& random) {
  const FillValue::Range range = range_of(fill, true);
  const auto low = static_cast<double>(range.low);
  // Rounded once: compilers for some hosts would fuse the operations, others would not.
  return std::fma(random.fraction(), static_cast<double>(range.high - range.low), low);
}

Result<std::int64_t> random_integer(const FillValue& fill, RandomNumbers& random,
                                    std::string_view title) {
  constexpr gantry_dtype type = dtypes::int64;
  const auto range = integers_in(range_of(fill, false), limits_of(type));
  if (!range) return bad_range(title, numbers_of(type));
  return static_cast<std::int64_t>(bits_of_integer(range->low) + random.below(range->count));
}

Status fill_elements(const Tensor& tensor, const FillValue& fill, RandomNumbers& random,
                     std::string_view title) {
  if (fill.kind == FillValue::Kind::zeros) {
    std::memset(tensor.data(), 0, tensor.byte_size());
    return {};
  }
  const gantry_dtype dtype = tensor.dtype();
  if (!element_reader(dtype)) return no_numbers(dtype, title);
  if (fill.kind == FillValue::Kind::ones) {
    const std::uint64_t one = *bits_of(1, dtype);
    ElementWriter writer(tensor);
    for (std::uint64_t left = element_count(tensor); left > 0; --left) writer.write(one);
    return {};
  }
  return is_float(dtype) ? fill_floats(tensor, fill, random, title)
                         : fill_integers(tensor, fill, random, title);
}

std::uint64_t count_numbers(std::string_view list) {
  std::uint64_t count = 0;
  (void)for_each_number(list, [&](std::size_t, std::string_view) -> Status {
    ++count;
    return {};
  });
  return count;
}

Status write_numbers(const Tensor& tensor, std::string_view list, std::string_view title) {
  const gantry_dtype dtype = tensor.dtype();
  if (!element_reader(dtype)) return no_numbers(dtype, title);
  ElementWriter writer(tensor);
  return for_each_number(list, [&](std::size_t index, std::string_view text) -> Status {
    const auto number = number_in(text);
    const auto bits = number ? bits_of(*number, dtype) : std::nullopt;
    if (!bits) {
      return invalid(title, " is ", type_text(dtype, tensor.shape()), ": number ", index, " is ",
                     quoted(text), ", expected ", numbers_of(dtype));
    }
    writer.write(*bits);
    return {};
  });
}

}  // namespace gantry::cli
