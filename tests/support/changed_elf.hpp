// SPDX-License-Identifier: Apache-2.0
//
// Changes of built ELF files that ElfBuilder does not have.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace gantry::test {

// Makes a data symbol unique in the process, and hidden.
inline void make_unique(std::vector<std::uint8_t>& bytes, std::string_view symbol) {
  const std::uint64_t entry = ElfFile::parse(bytes)->find(symbol)->at;
  // STB_GNU_UNIQUE, STT_OBJECT, STV_HIDDEN
  bytes[entry + 4] = 10 << 4 | 1;
  bytes[entry + 5] = 2;
}

// Makes the library one that requires an executable stack.
inline void make_stack_executable(std::vector<std::uint8_t>& bytes) {
  const ElfFile elf = ElfFile::parse(bytes).value();
  // p_flags
  for (const ElfSegment& segment : elf.image().segments()) {
    if (segment.type == segment_type::gnu_stack) bytes[segment.at + 4] |= 1;
  }
}

// Lets the loaded segment of ElfBuilder begin in the middle of the first note: p_offset and p_vaddr
// grow, p_filesz and p_memsz shrink.
inline void unload_note(std::vector<std::uint8_t>& bytes) {
  const ElfFile elf = ElfFile::parse(bytes).value();
  std::uint64_t load_at = 0;
  for (const ElfSegment& segment : elf.image().segments()) {
    if (segment.type == segment_type::load) load_at = segment.at;
  }
  const std::uint64_t cut = elf.offset_in_file(elf.notes()[0].content) + 8;
  const auto add = [&](std::uint64_t at, std::uint64_t value) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + at, 8);
    number += value;
    std::memcpy(bytes.data() + at, &number, 8);
  };
  add(load_at + 8, cut);
  add(load_at + 16, cut);
  add(load_at + 32, ~cut + 1);
  add(load_at + 40, ~cut + 1);
}

}  // namespace gantry::test
