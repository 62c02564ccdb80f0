// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_x86.hpp"

#include <gantry/byte_reader.hpp>

namespace gantry {
namespace {

// Of a note, and of a property in it.
constexpr std::uint32_t properties_note = 5, x86_isa_needed = 0xc0008002;

// Stops without an error at a malformed property, as the linker ignores it.
std::uint32_t levels_of(std::span<const std::uint8_t> properties) {
  ByteReader in(properties);
  std::uint32_t levels = 0;
  while (in.left() >= 8) {
    const std::uint32_t type = *in.read_u32("type of a property");
    const std::uint32_t bytes = *in.read_u32("size of a property");
    if (type == x86_isa_needed && bytes == sizeof levels) {
      const auto needed = in.read_u32("x86 ISA");
      if (needed.ok()) levels |= *needed;
      if (!in.skip(sizeof levels, "padding").ok()) break;
    } else if (!in.skip((std::uint64_t{bytes} + 7) & ~std::uint64_t{7}, "property").ok()) {
      break;
    }
  }
  return levels;
}

}  // namespace

std::uint32_t required_x86_levels(const ElfFile& elf) {
  std::uint32_t levels = 0;
  if (elf.machine() != ElfMachine::x86_64) return levels;
  for (const ElfNote& note : elf.notes()) {
    if (note.owner == "GNU" && note.type == properties_note) levels |= levels_of(note.content);
  }
  return levels;
}

}  // namespace gantry
