// SPDX-License-Identifier: Apache-2.0
//
// Where a shared library stores the addresses of symbols that it imports.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

// A word of the library through which its code calls an imported function. Unless the library is
// bound when it is opened, the linker stores the function's address at the first call.
struct JumpSlot {
  // in the file's address space
  std::uint64_t address;
  // index in ElfFile::symbols()
  std::size_t symbol;
};

struct SymbolUses {
  std::vector<JumpSlot> slots;
  // True if another relocation refers to one of the symbols: the linker resolves that when it opens
  // the library.
  bool has_others = false;
};

// elf      for this machine; check_link() accepts it
// symbols  indices in ElfFile::symbols(), ascending
// costs    O(size of the relocation tables)
Result<SymbolUses> uses_of(const ElfFile& elf, std::span<const std::size_t> symbols);

}  // namespace gantry
