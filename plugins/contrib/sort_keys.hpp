// SPDX-License-Identifier: Apache-2.0
//
// Elements as unsigned keys of the same order: NaN is larger than every number, and -0 equals 0.
#pragma once

#include <gantry/dtype_text.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gantry::contrib {

// 16-bit floats, of which only the order matters here.
struct Float16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

namespace detail {
// infinity [in]   bits of the positive one
template <std::unsigned_integral Bits>
constexpr Bits float_key(Bits bits, Bits infinity) {
  constexpr Bits sign = Bits{1} << (std::numeric_limits<Bits>::digits - 1);
  if (static_cast<Bits>(bits & ~sign) > infinity) return std::numeric_limits<Bits>::max();
  if (bits == sign) bits = 0;
  return static_cast<Bits>((bits & sign) != 0 ? ~bits : bits | sign);
}
}  // namespace detail

// auto: clang 19 substitutes a return type before it checks the constraint.
template <std::integral T>
constexpr auto key_of(T number) {
  using Key = std::make_unsigned_t<T>;
  constexpr Key sign = std::is_signed_v<T> ? Key{1} << (std::numeric_limits<Key>::digits - 1) : 0;
  return static_cast<Key>(static_cast<Key>(number) ^ sign);
}
constexpr std::uint16_t key_of(Float16 number) {
  return detail::float_key<std::uint16_t>(number.bits, 0x7c00);
}
constexpr std::uint16_t key_of(Bfloat16 number) {
  return detail::float_key<std::uint16_t>(number.bits, 0x7f80);
}
constexpr std::uint32_t key_of(float number) {
  return detail::float_key<std::uint32_t>(std::bit_cast<std::uint32_t>(number), 0x7f800000);
}
constexpr std::uint64_t key_of(double number) {
  return detail::float_key<std::uint64_t>(std::bit_cast<std::uint64_t>(number), 0x7ff0000000000000);
}

// The number of a key.
//
// returns  NaN for the largest key of a float
template <std::integral T>
constexpr T number_of(std::make_unsigned_t<T> key) {
  return static_cast<T>(key ^ key_of(T{}));
}
template <std::floating_point T, std::unsigned_integral Key>
constexpr T number_of(Key key) {
  constexpr Key sign = Key{1} << (std::numeric_limits<Key>::digits - 1);
  return std::bit_cast<T>(static_cast<Key>((key & sign) != 0 ? key ^ sign : ~key));
}

// Calls visit(T{}) with the C++ type of an element.
//
// returns  false: there are no elements of this type
template <class Visit>
bool visit_element(gantry_dtype dtype, const Visit& visit) {
  const auto is = [&]<class T>(gantry_dtype type, T element) {
    if (!same_dtype(type, dtype)) return false;
    visit(element);
    return true;
  };
  return is(dtypes::float32, float{}) || is(dtypes::int64, std::int64_t{}) ||
         is(dtypes::int32, std::int32_t{}) || is(dtypes::float16, Float16{}) ||
         is(dtypes::float64, double{}) || is(dtypes::bfloat16, Bfloat16{}) ||
         is(dtypes::int8, std::int8_t{}) || is(dtypes::uint8, std::uint8_t{}) ||
         is(dtypes::int16, std::int16_t{}) || is(dtypes::uint16, std::uint16_t{}) ||
         is(dtypes::uint32, std::uint32_t{}) || is(dtypes::uint64, std::uint64_t{});
}

}  // namespace gantry::contrib
