// SPDX-License-Identifier: Apache-2.0
//
// The memory of a shared library as the system's linker leaves it when it maps the library at
// address 0, without mapping it: relocations that write addresses of the library are applied.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

struct LoadedSegment {
  std::uint64_t address = 0;
  // The part that is in the file.
  std::span<const std::uint8_t> file;
  // The same after relocation; empty: the segment is not writable
  std::vector<std::uint8_t> relocated;

  std::span<const std::uint8_t> bytes() const {
    return relocated.empty() ? file : std::span<const std::uint8_t>(relocated);
  }
};

struct LoadedMemory {
  std::vector<LoadedSegment> segments;
  // Multiples of 8, ascending: addresses of words that contain addresses of the library.
  std::vector<std::uint64_t> pointers;
};

// elf      of x86-64 or aarch64
// returns  malformed    segments that the linker does not accept; a table that is not inside the file;
//                       a GLOB_DAT or JUMP_SLOT with an addend
//          unsupported  another machine
// costs    O(size of writable segments + relocations)
Result<LoadedMemory> loaded_memory(const ElfFile& elf);

}  // namespace gantry
