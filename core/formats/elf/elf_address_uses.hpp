// SPDX-License-Identifier: Apache-2.0
//
// Where a shared library stores addresses of its own bytes.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace gantry {

// Addresses of the file: begin .. begin + size - 1.
struct AddressRange {
  std::uint64_t begin = 0, size = 0;

  bool contains(std::uint64_t address) const { return address >= begin && address - begin < size; }
};

// Finds a relocation that writes an address in the range. One that names the symbol `except` is not
// reported: its value follows the symbol.
//
// elf      for x86-64 or aarch64; ElfMemory::of() accepts its image
// returns  the file offset of the relocation; malformed if a table, or a word that the linker
//          relocates in place, is not inside the file
// costs    O(size of the relocation tables)
Result<std::optional<std::uint64_t>> find_address_use(const ElfFile& elf, const AddressRange& range,
                                                      std::string_view except);

}  // namespace gantry
