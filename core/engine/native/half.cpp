// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/half.hpp"

#include "core/engine/native/runtime_functions.hpp"

#include <cstdint>
#include <cstring>

namespace gantry {

// A conversion by way of float would round twice.
std::uint16_t half_of(double number) {
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

namespace {

float float_of(std::uint16_t half) {
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

std::uint16_t float_to_half(float number) { return half_of(static_cast<double>(number)); }

#if defined(__FLT16_MAX__)
#if defined(__aarch64__)
// GCC 12 does not have _Float16 in C++ here; __fp16 is passed in the same registers.
using Half = __fp16;
#else
__extension__ typedef _Float16 Half;
#endif
Half half_from_bits(std::uint16_t bits) {
  Half half;
  std::memcpy(&half, &bits, sizeof half);
  return half;
}
#if !defined(__x86_64__)
Half double_to_half(double number) { return half_from_bits(half_of(number)); }
#endif
Half float_to_register_half(float number) {
  return half_from_bits(half_of(static_cast<double>(number)));
}
float register_half_to_float(Half half) {
  std::uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return float_of(bits);
}
#endif

}  // namespace

#if defined(__x86_64__)
// Called by the code below, which the compiler does not read.
extern "C" __attribute__((used, visibility("hidden"))) std::uint16_t gantry_half_of_double(
    double number) {
  return half_of(number);
}
extern "C" __attribute__((visibility("hidden"))) void gantry_double_to_half();
asm(R"(
    .text
    .globl gantry_double_to_half
    .hidden gantry_double_to_half
    .type gantry_double_to_half, @function
gantry_double_to_half:
    subq $8, %rsp
    call gantry_half_of_double
    movzwl %ax, %eax
    movd %eax, %xmm0
    addq $8, %rsp
    ret
    .size gantry_double_to_half, . - gantry_double_to_half
)");
#endif

HalfHelpers half_helpers() {
  HalfHelpers helpers{address(float_to_half), address(float_of), nullptr, nullptr, nullptr};
#if defined(__x86_64__)
  helpers.double_to_half = address(gantry_double_to_half);
#elif defined(__FLT16_MAX__)
  helpers.double_to_half = address(double_to_half);
#endif
#if defined(__FLT16_MAX__)
  helpers.float_to_register_half = address(float_to_register_half);
  helpers.register_half_to_float = address(register_half_to_float);
#endif
  return helpers;
}

}  // namespace gantry
