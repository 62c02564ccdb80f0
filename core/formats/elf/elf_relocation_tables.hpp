// SPDX-License-Identifier: Apache-2.0
//
// The relocation tables of a shared library as bytes.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <span>

namespace gantry {

// One entry of DT_RELA and DT_JMPREL.
struct [[gnu::packed]] Relocation {
  std::uint64_t address;
  std::uint32_t type, symbol;
  std::uint64_t addend;
};

// Types that write the address of a symbol, and the one that writes an address of the library
// itself.
struct SymbolRelocationTypes {
  // through which the code calls a function of another library
  std::uint32_t jump_slot;
  // which the code loads
  std::uint32_t address;
  // in data, plus the addend
  std::uint32_t absolute;
  // the addend, without a symbol
  std::uint32_t relative;
};

// machine  x86-64 or aarch64
// source   System V ABI, AMD64 supplement, table 4.10; ELF for the Arm 64-bit architecture
constexpr SymbolRelocationTypes symbol_relocation_types(ElfMachine machine) {
  return machine == ElfMachine::x86_64 ? SymbolRelocationTypes{7, 6, 1, 8}
                                       : SymbolRelocationTypes{1026, 1025, 257, 1027};
}

// Checks that a relocation that writes the address of a symbol and nothing else, jump_slot or
// address, has no addend: glibc adds it on aarch64 and ignores it on x86-64, and linkers write 0.
//
// elf      for x86-64 or aarch64
// at       file offset of the relocation
// returns  malformed, at the addend
Status check_addend(const ElfFile& elf, const Relocation& entry, std::uint64_t at);

// Tables that the file does not have are empty.
struct RelocationTables {
  // DT_RELR: words
  std::span<const std::uint8_t> packed;
  // DT_RELA
  std::span<const std::uint8_t> data;
  // DT_JMPREL: the linker may apply these at the first call
  std::span<const std::uint8_t> calls;
};

// returns  malformed for a table that is not inside the file part of its segment
Result<RelocationTables> relocation_tables(const ElfFile& elf);

}  // namespace gantry
