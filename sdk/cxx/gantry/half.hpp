// SPDX-License-Identifier: Apache-2.0
//
// gantry/half.hpp - converts numbers to and from IEEE half precision, float16.
#pragma once

#include <cstdint>
#include <cstring>

namespace gantry {

// Rounds to nearest, ties to even, in one step: a conversion by way of float would round twice.
inline std::uint16_t half_of(double number) {
  std::uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  const auto sign = static_cast<std::uint16_t>((bits >> 48) & 0x8000u);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 1024 && fraction != 0) {
    // a quiet NaN
    return static_cast<std::uint16_t>(sign | 0x7e00u | (fraction >> 42));
  }
  if (exponent > 15) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (exponent < -25) return sign;
  // 52 bits of fraction to 10
  int shift = 42;
  std::uint64_t half = static_cast<std::uint64_t>(exponent + 15) << 10;
  // subnormal: the leading 1 moves into the fraction
  if (exponent < -14) {
    shift += -14 - exponent;
    fraction |= std::uint64_t{1} << 52;
    half = 0;
  }
  half |= fraction >> shift;
  const std::uint64_t rest = fraction & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (shift - 1);
  // A carry into the exponent is correct, also to infinity.
  if (rest > middle || (rest == middle && (half & 1) != 0)) ++half;
  return static_cast<std::uint16_t>(sign | half);
}

inline float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  std::uint32_t exponent = (half >> 10) & 0x1fu;
  std::uint32_t fraction = half & 0x3ffu;
  std::uint32_t bits = sign;
  if (exponent == 0x1f) {
    bits |= 0x7f800000u | (fraction << 13);
  } else if (exponent != 0) {
    bits |= ((exponent + 112) << 23) | (fraction << 13);
  } else if (fraction != 0) {
    exponent = 113;
    while ((fraction & 0x400u) == 0) {
      fraction <<= 1;
      --exponent;
    }
    bits |= (exponent << 23) | ((fraction & 0x3ffu) << 13);
  }
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

}  // namespace gantry
