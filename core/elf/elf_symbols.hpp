// SPDX-License-Identifier: Apache-2.0
//
// Symbol tables, string tables, and how many dynamic symbols there are.
#pragma once

#include "core/elf/elf_image.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// Names by offset. Hostile tables let thousands of names share one long tail; the bytes handed out
// are therefore limited to a small multiple of the table, which keeps every later walk linear.
class StringTable {
 public:
  StringTable() = default;
  // bytes   borrowed
  // at      where the table begins in the file, for errors
  StringTable(std::span<const std::uint8_t> bytes, std::uint64_t at)
      : bytes_(bytes), at_(at), budget_(names_per_byte * bytes.size() + names_for_free) {}

  // The text from `offset` to its NUL. Malformed past the table's end or without a NUL.
  Result<std::string_view> name(std::uint64_t offset, std::string_view field);

 private:
  static constexpr std::uint64_t names_per_byte = 16;
  static constexpr std::uint64_t names_for_free = 65536;

  std::span<const std::uint8_t> bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t budget_ = 0;
};

constexpr std::uint64_t symbol_bytes = 24;

// Entries of `table` from index 1 on (0 is the null symbol).
//
// table   a whole number of entries
// at      where it begins in the file
// strings their names
Result<std::vector<ElfSymbol>> read_symbols(std::span<const std::uint8_t> table, std::uint64_t at,
                                            StringTable& strings);

// DT_HASH.
//
// returns  the number of dynamic symbols, the null symbol included
// source   the gABI "Hash Table" section: one chain word for each symbol
Result<std::uint64_t> symbol_count_of_hash(std::span<const std::uint8_t> table, std::uint64_t at);

// The dynamic symbols that a GNU hash table leads to: first .. end-1, the last ones of their table.
// Empty, both are what the table names as first: then the linker says how many symbols there are, or 1.
struct HashedSymbols {
  std::uint64_t first = 0, end = 0;
};

// DT_GNU_HASH.
//
// source   glibc elf/dl-lookup.c; GNU ld bfd/elflink.c: the last chain of the highest bucket ends at
//          the last symbol
Result<HashedSymbols> read_gnu_hash(std::span<const std::uint8_t> table, std::uint64_t at);

// DT_VERNEED: `count` files, each with the versions wanted from it.
Result<std::vector<ElfVersionNeed>> read_version_needs(std::span<const std::uint8_t> table,
                                                       std::uint64_t at, std::uint64_t count,
                                                       StringTable& strings);

// The notes of one PT_NOTE segment. Stops quietly at the first one that does not fit: notes are
// hints of whoever wrote them, and a file with a bad one loads all the same.
void append_notes(std::span<const std::uint8_t> segment, std::vector<ElfNote>& notes);

}  // namespace gantry
