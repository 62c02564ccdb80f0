// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/half.hpp"

#include "core/engine/native/runtime_functions.hpp"

#include <gantry/half.hpp>

#include <cstdint>
#include <cstring>

namespace gantry {
namespace {

std::uint16_t float_to_half(float number) { return half_of(static_cast<double>(number)); }
float half_to_float(std::uint16_t half) { return float_of_half(half); }

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
  return float_of_half(bits);
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
  HalfHelpers helpers{address(float_to_half), address(half_to_float), nullptr, nullptr, nullptr};
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
