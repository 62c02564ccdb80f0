// SPDX-License-Identifier: Apache-2.0
//
// Reads the dynamic segment of shared libraries and programs.
#pragma once

#include "core/formats/elf/elf_image.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// Tags of the entries that are used here, DT_*.
namespace dynamic_tag {
constexpr std::uint64_t end = 0, needed = 1, plt_relocation_bytes = 2, hash = 4, strings = 5,
                        symbols = 6, relocations = 7, relocation_bytes = 8,
                        relocation_entry_bytes = 9, string_bytes = 10, symbol_entry_bytes = 11,
                        init = 12, fini = 13, soname = 14, rpath = 15, short_relocations = 17,
                        plt_relocation_tag = 20, text_relocations = 22, plt_relocations = 23,
                        bind_now = 24, init_array = 25, fini_array = 26, init_array_bytes = 27,
                        fini_array_bytes = 28, runpath = 29, flags = 30, preinit_array = 32,
                        preinit_array_bytes = 33, packed_relocation_bytes = 35,
                        packed_relocations = 36, packed_relocation_entry_bytes = 37,
                        gnu_hash = 0x6ffffef5, versions = 0x6ffffff0, relative_count = 0x6ffffff9,
                        flags_1 = 0x6ffffffb, version_definitions = 0x6ffffffc,
                        version_needs = 0x6ffffffe, version_need_count = 0x6fffffff,
                        auxiliary = 0x7ffffffd, filter = 0x7fffffff;
}  // namespace dynamic_tag

// The value of one entry and the file offset of the value.
struct DynamicValue {
  std::uint64_t value = 0;
  std::uint64_t at = 0;
};

// The entries that the readers use, unchecked. If a tag is repeated, the last entry is kept.
class DynamicSegment {
 public:
  DynamicSegment() = default;
  // segment  bytes of the segment
  // at       file offset of the segment
  static Result<DynamicSegment> parse(std::span<const std::uint8_t> segment, std::uint64_t at);

  // Returns NULL if there is no entry with the tag.
  const DynamicValue* find(std::uint64_t tag) const;
  // 0 if there is no entry with the tag.
  std::uint64_t value(std::uint64_t tag) const {
    const DynamicValue* entry = find(tag);
    return entry ? entry->value : 0;
  }
  const std::vector<DynamicValue>& needed() const { return needed_; }
  // DT_AUXILIARY and DT_FILTER
  const std::vector<DynamicValue>& filters() const { return filters_; }
  bool text_relocations() const {
    return find(dynamic_tag::text_relocations) || (value(dynamic_tag::flags) & 4) != 0;
  }
  // True if DT_NULL ends the entries.
  bool is_terminated() const { return is_terminated_; }

 private:
  // Tags from 0 to 37, from 0x6ffffff0 to 0x6fffffff, and DT_GNU_HASH.
  static constexpr std::uint64_t first_gnu = 0x6ffffff0, generic_count = 38, gnu_count = 16;
  // Returns entries_.size() for other tags.
  static std::size_t index_of(std::uint64_t tag);

  // `at` is 0 if there is no such entry
  std::array<DynamicValue, generic_count + gnu_count + 1> entries_{};
  std::vector<DynamicValue> needed_, filters_;
  bool is_terminated_ = false;
};

// Returns the bytes from the address in an entry to the end of the file part of its segment.
//
// name     of the entry, for errors: "DT_SYMTAB"
Result<std::span<const std::uint8_t>> bytes_behind(const ElfImage& image, const DynamicValue& entry,
                                                   std::string_view name);

// A table whose address and size in bytes are in two entries.
struct SizedTable {
  std::string_view name, size_name;
  std::uint64_t address_tag, size_tag;
  std::uint64_t entry_bytes;
};

// Returns the bytes of a table; empty if it has neither entry.
//
// returns  malformed if one entry is missing, or if the size is not a multiple of entry_bytes or
//          exceeds the file part of the segment
Result<std::span<const std::uint8_t>> sized_table(const ElfImage& image,
                                                  const DynamicSegment& dynamic,
                                                  const SizedTable& table);

// Returns the string table; empty if there is none.
Result<std::span<const std::uint8_t>> string_table(const ElfImage& image,
                                                   const DynamicSegment& dynamic);

// Returns the dynamic symbol table, including the null symbol. The dynamic segment does not contain
// the number of symbols; it comes from the hash tables.
//
// symbols  DT_SYMTAB
// returns  malformed; with reason ELF_HASH if there is no hash table or the hash tables disagree
Result<std::span<const std::uint8_t>> symbol_table(const ElfImage& image,
                                                   const DynamicSegment& dynamic,
                                                   const DynamicValue& symbols);

}  // namespace gantry
