// SPDX-License-Identifier: Apache-2.0
//
// Reads symbol tables, string tables, hash tables, version needs and notes.
#pragma once

#include "core/formats/elf/elf_image.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// Returns names by offset. In a hostile table thousands of names may share one long suffix. The
// total length of the returned names is therefore limited to a small multiple of the table's size,
// so that the time of later passes over the names is linear in the file size.
class StringTable {
 public:
  StringTable() = default;
  // bytes   borrowed
  // at      file offset of the table, for errors
  StringTable(std::span<const std::uint8_t> bytes, std::uint64_t at)
      : bytes_(bytes), at_(at), budget_(names_per_byte * bytes.size() + names_for_free) {}

  // Returns the text from `offset` to its NUL; malformed if `offset` is beyond the table, if there
  // is no NUL, or if the limit on the total length is exceeded.
  //
  // field   for errors: "symbol name"
  Result<std::string_view> name(std::uint64_t offset, std::string_view field);

 private:
  static constexpr std::uint64_t names_per_byte = 16;
  static constexpr std::uint64_t names_for_free = 65536;

  std::span<const std::uint8_t> bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t budget_ = 0;
};

constexpr std::uint64_t symbol_bytes = 24;

// Reads the entries of `table` from index 1 on; 0 is the null symbol.
//
// table   a whole number of entries
// at      file offset of the table
// strings the names of the symbols
Result<std::vector<ElfSymbol>> read_symbols(std::span<const std::uint8_t> table, std::uint64_t at,
                                            StringTable& strings);

// Reads the header of DT_HASH.
//
// returns  the number of dynamic symbols, including the null symbol
// source   System V gABI, section "Hash Table": one chain word for each symbol
Result<std::uint64_t> symbol_count_of_hash(std::span<const std::uint8_t> table, std::uint64_t at);

// Checks that every bucket and chain of DT_HASH names symbols of the table, and that the chains
// end.
//
// costs    O(size of the table)
Status check_hash_chains(std::span<const std::uint8_t> table, std::uint64_t at);

// The dynamic symbols in a GNU hash table: first .. end-1, the last ones of the symbol table. If
// the hash table is empty, both are its first-symbol field, for which linkers write the number of
// symbols or 1.
struct HashedSymbols {
  std::uint64_t first = 0, end = 0;
};

// Reads DT_GNU_HASH.
//
// source   glibc elf/dl-lookup.c; GNU ld bfd/elflink.c: the last chain of the highest bucket ends
//          at the last symbol
Result<HashedSymbols> read_gnu_hash(std::span<const std::uint8_t> table, std::uint64_t at);

// Reads DT_VERNEED: `count` libraries, each with the versions that are required of it.
Result<std::vector<ElfVersionNeed>> read_version_needs(std::span<const std::uint8_t> table,
                                                       std::uint64_t at, std::uint64_t count,
                                                       StringTable& strings);

// Appends the notes of one PT_NOTE segment. Stops without an error at the first malformed note,
// since the system's loader also loads such a file.
void append_notes(std::span<const std::uint8_t> segment, std::vector<ElfNote>& notes);

}  // namespace gantry
