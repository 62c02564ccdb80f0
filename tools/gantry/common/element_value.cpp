// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/element_value.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/result.hpp>

#include <bit>
#include <cmath>
#include <cstring>

namespace gantry::cli {
namespace {

static_assert(__LDBL_MANT_DIG__ >= 64, "a 64-bit integer fits in a long double's mantissa");

template <class T>
T load(const std::uint8_t* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <class T>
long double read(const std::uint8_t* element) {
  return static_cast<long double>(load<T>(element));
}

// An element below a byte is in the lowest bits.
template <int bits>
long double read_unsigned(const std::uint8_t* element) {
  return static_cast<long double>(*element & ((1 << bits) - 1));
}
template <int bits>
long double read_signed(const std::uint8_t* element) {
  const int value = *element & ((1 << bits) - 1);
  return static_cast<long double>(value < 1 << (bits - 1) ? value : value - (1 << bits));
}

float half_to_float(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return sign * (mantissa == 0 ? INFINITY : NAN);
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
}

float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

long double read_half(const std::uint8_t* element) {
  return half_to_float(load<std::uint16_t>(element));
}
long double read_bfloat(const std::uint8_t* element) {
  return bfloat_to_float(load<std::uint16_t>(element));
}

}  // namespace

std::optional<ElementReader> element_reader(gantry_dtype dtype) {
  if (dtype.lanes != 1) return std::nullopt;
  const auto is = [&](TypeCode code, int bits) {
    return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits;
  };
  if (is(TypeCode::int_, 2)) return read_signed<2>;
  if (is(TypeCode::int_, 4)) return read_signed<4>;
  if (is(TypeCode::uint, 2)) return read_unsigned<2>;
  if (is(TypeCode::uint, 4)) return read_unsigned<4>;
  if (is(TypeCode::int_, 8)) return read<std::int8_t>;
  if (is(TypeCode::int_, 16)) return read<std::int16_t>;
  if (is(TypeCode::int_, 32)) return read<std::int32_t>;
  if (is(TypeCode::int_, 64)) return read<std::int64_t>;
  if (is(TypeCode::uint, 1) || is(TypeCode::uint, 8) || is(TypeCode::bool_, 8)) {
    return read<std::uint8_t>;
  }
  if (is(TypeCode::uint, 16)) return read<std::uint16_t>;
  if (is(TypeCode::uint, 32)) return read<std::uint32_t>;
  if (is(TypeCode::uint, 64)) return read<std::uint64_t>;
  if (is(TypeCode::float_, 16)) return read_half;
  if (is(TypeCode::float_, 32)) return read<float>;
  if (is(TypeCode::float_, 64)) return read<double>;
  if (is(TypeCode::bfloat, 16)) return read_bfloat;
  return std::nullopt;
}

const std::uint8_t* element_at(std::span<const std::uint8_t> bytes, gantry_dtype dtype,
                               std::uint64_t index, std::vector<std::uint8_t>& room) {
  if (!is_packed(dtype)) return bytes.data() + index * element_bytes(dtype);
  // The first element is in the lowest bits.
  const std::uint64_t size = std::uint64_t{dtype.bits} * dtype.lanes;
  room.assign(element_bytes(dtype), 0);
  for (std::uint64_t to = 0; to < size; ++to) {
    const std::uint64_t from = index * size + to;
    const int bit = bytes[from / 8] >> from % 8 & 1;
    room[to / 8] = static_cast<std::uint8_t>(room[to / 8] | bit << to % 8);
  }
  return room.data();
}

std::string element_text(const std::uint8_t* element, gantry_dtype dtype) {
  const auto reader = element_reader(dtype);
  if (!reader) {
    std::string text = "bytes";
    for (std::uint64_t i = 0; i < element_bytes(dtype); ++i) text += concat(" ", Hex{element[i]});
    return text;
  }
  const bool number = dtype.code == static_cast<std::uint8_t>(TypeCode::float_) ||
                      dtype.code == static_cast<std::uint8_t>(TypeCode::bfloat);
  const long double value = (*reader)(element);
  if (number && dtype.bits == 64) return concat(static_cast<double>(value));
  if (number) return concat(static_cast<float>(value));
  if (value < 0) return concat(static_cast<std::int64_t>(value));
  return concat(static_cast<std::uint64_t>(value));
}

}  // namespace gantry::cli
