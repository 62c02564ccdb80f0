// SPDX-License-Identifier: Apache-2.0
//
// The length of an instruction of x86-64 in 64-bit mode, and the instruction set that it belongs to.
//
//     prefixes  66 67 f0 f2 f3, segments, REX
//     opcode    one byte; 0f; 0f 38; 0f 3a; VEX (c4, c5); EVEX (62); XOP (8f)
//     operands  ModRM, SIB, displacement, immediate
//
// source   Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A;
//          AMD64 Architecture Programmer's Manual, volume 6 (XOP, FMA4)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gantry {

struct X86Instruction {
  // bytes
  std::size_t size = 0;
  // ssse3, sse4.1, sse4.2, popcnt, avx, avx2, fma, fma4, xop, bmi, bmi2 or avx512f; for another set one that it requires; empty for
  // those of every x86-64
  std::string_view feature;
  // Code that asks for the CPU's instruction sets may use one of several versions of a function.
  bool is_cpuid = false;
};

// Decodes the first instruction of some code.
//
// returns  nullopt if there is no such instruction, or if the code ends inside of it
std::optional<X86Instruction> decode_x86(std::span<const std::uint8_t> code);

}  // namespace gantry
