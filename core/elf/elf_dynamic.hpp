// SPDX-License-Identifier: Apache-2.0
//
// Reads the dynamic segment of shared libraries and programs.
#pragma once

#include "core/elf/elf_image.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// The value of one entry and the file offset of the value.
struct DynamicValue {
  std::uint64_t value = 0;
  std::uint64_t at = 0;
};

// The entries that the readers use, unchecked. If a tag is repeated, the last entry is kept.
struct DynamicSegment {
  std::vector<DynamicValue> needed;
  std::optional<DynamicValue> hash, gnu_hash, strings, string_bytes, symbols, symbol_entry_bytes;
  std::optional<DynamicValue> soname, rpath, runpath;
  std::optional<DynamicValue> versions, version_needs, version_need_count;
  std::uint64_t flags = 0, flags_1 = 0;
  bool text_relocations = false, bind_now = false;

  // segment  bytes of the segment
  // at       file offset of the segment
  static Result<DynamicSegment> parse(std::span<const std::uint8_t> segment, std::uint64_t at);
};

// Returns the bytes from the address in an entry to the end of the file part of its segment.
//
// name     of the entry, for errors: "DT_SYMTAB"
Result<std::span<const std::uint8_t>> bytes_behind(const ElfImage& image, const DynamicValue& entry,
                                                   std::string_view name);

// Returns the dynamic symbol table, including the null symbol. The dynamic segment does not contain
// the number of symbols; it comes from the hash tables.
//
// dynamic  `symbols` is set
// returns  malformed; with reason ELF_HASH if there is no hash table or the hash tables disagree
Result<std::span<const std::uint8_t>> symbol_table(const ElfImage& image,
                                                   const DynamicSegment& dynamic);

}  // namespace gantry
