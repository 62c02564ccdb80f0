// SPDX-License-Identifier: Apache-2.0
//
// Sanitizers of code: numbered as GANTRY_SANITIZER_* of gantry/note.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace gantry {

// A function that the runtime of each sanitizer defines, and that code built with it calls.
extern const std::array<std::pair<const char*, std::uint32_t>, 4> sanitizer_starts;

// Returns the sanitizer with which this program is built, else the one whose runtime the linker has
// opened before it: LD_PRELOAD=libasan.so.
std::uint32_t sanitizer_of_process();

// "no sanitizer", "the address sanitizer", "sanitizer 9"
std::string sanitizer_text(std::uint32_t sanitizer);

}  // namespace gantry
