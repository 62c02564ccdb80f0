// SPDX-License-Identifier: Apache-2.0
//
// The levels of x86-64 that a file requires, by its note of GNU properties.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <cstdint>

namespace gantry {

// Returns them as bits (core/base/x86_levels.hpp); 0 if the file has no such note. The system's linker refuses a
// file that requires a level which the CPU lacks.
//
// source   x86-64 psABI, GNU_PROPERTY_X86_ISA_1_NEEDED
std::uint32_t required_x86_levels(const ElfFile& elf);

}  // namespace gantry
