// SPDX-License-Identifier: Apache-2.0
//
// The dynamic segment: what a shared library tells its loader.
#pragma once

#include "core/elf/elf_image.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// The value of one entry, and where it stands in the file.
struct DynamicValue {
  std::uint64_t value = 0;
  std::uint64_t at = 0;
};

// The entries that matter, as they stand there. Of a tag that stands there twice the last one counts.
struct DynamicSegment {
  std::vector<DynamicValue> needed;
  std::optional<DynamicValue> hash, gnu_hash, strings, string_bytes, symbols, symbol_entry_bytes;
  std::optional<DynamicValue> soname, rpath, runpath;
  std::optional<DynamicValue> versions, version_needs, version_need_count;
  std::uint64_t flags = 0, flags_1 = 0;
  bool text_relocations = false, bind_now = false;

  // segment  its bytes
  // at       where they begin in the file
  static Result<DynamicSegment> parse(std::span<const std::uint8_t> segment, std::uint64_t at);
};

// From the address that an entry holds to the end of the file part of its segment.
//
// name     "DT_SYMTAB"
Result<std::span<const std::uint8_t>> bytes_behind(const ElfImage& image, const DynamicValue& entry,
                                                   std::string_view name);

// The dynamic symbol table, the null symbol included. Its entries are counted by the hash tables, for
// the segment does not say how many there are.
//
// dynamic  `symbols` is there
// returns  malformed, with reason ELF_HASH where there is no or no sound hash table
Result<std::span<const std::uint8_t>> symbol_table(const ElfImage& image,
                                                   const DynamicSegment& dynamic);

}  // namespace gantry
