// SPDX-License-Identifier: Apache-2.0
#include "core/elf/elf_dynamic.hpp"

#include "core/elf/elf_symbols.hpp"

#include <gantry/byte_reader.hpp>

#include <algorithm>

namespace gantry {
namespace {

namespace tag {
constexpr std::uint64_t end = 0, needed = 1, hash = 4, strings = 5, symbols = 6, string_bytes = 10,
                        symbol_entry_bytes = 11, soname = 14, rpath = 15, text_relocations = 22,
                        bind_now = 24, runpath = 29, flags = 30, gnu_hash = 0x6ffffef5,
                        versions = 0x6ffffff0, flags_1 = 0x6ffffffb, version_needs = 0x6ffffffe,
                        version_need_count = 0x6fffffff;
}  // namespace tag

// SHT_DYNSYM
constexpr std::uint32_t section_dynamic_symbols = 11;

// Counts the symbols of a file whose only hash table is an empty GNU hash table. GNU ld writes the
// same empty table whatever the number of undefined symbols. The count comes from the section table
// if there is one, else from the start of the table that follows the symbols; otherwise it is
// unknown, and only the null symbol is counted.
std::uint64_t count_unhashed(const ElfImage& image, const DynamicSegment& dynamic,
                             std::uint64_t room) {
  const std::uint64_t begin = dynamic.symbols->value;
  for (const ElfSection& section : image.sections()) {
    if (section.type == section_dynamic_symbols && section.address == begin &&
        section.size <= room) {
      return section.size / symbol_bytes;
    }
  }
  std::uint64_t end = UINT64_MAX;
  for (const auto& table :
       {dynamic.strings, dynamic.hash, dynamic.gnu_hash, dynamic.versions, dynamic.version_needs}) {
    if (table && table->value > begin) end = std::min(end, table->value);
  }
  // the null symbol
  if (end == UINT64_MAX) return 1;
  return std::min(end - begin, room) / symbol_bytes;
}

Result<std::uint64_t> count_symbols(const ElfImage& image, const DynamicSegment& dynamic,
                                    std::uint64_t room) {
  if (!dynamic.hash && !dynamic.gnu_hash) {
    return malformed(dynamic.symbols->at,
                     "dynamic symbols cannot be counted: file has neither DT_HASH nor DT_GNU_HASH")
        .with_reason("ELF_HASH");
  }
  std::optional<std::uint64_t> count;
  if (dynamic.hash) {
    GANTRY_TRY(const auto table, bytes_behind(image, *dynamic.hash, "DT_HASH"));
    GANTRY_TRY(count, symbol_count_of_hash(table, image.offset_in_file(table)));
  }
  if (dynamic.gnu_hash) {
    GANTRY_TRY(const auto table, bytes_behind(image, *dynamic.gnu_hash, "DT_GNU_HASH"));
    GANTRY_TRY(const HashedSymbols hashed, read_gnu_hash(table, image.offset_in_file(table)));
    if (count && hashed.end > *count) {
      return malformed(image.offset_in_file(table), "DT_GNU_HASH counts ", hashed.end,
                       " symbols, DT_HASH counts ", *count)
          .with_reason("ELF_HASH");
    }
    if (!count) {
      // 1: the null symbol alone
      const bool is_empty = hashed.end <= 1;
      count = is_empty ? count_unhashed(image, dynamic, room) : hashed.end;
    }
  }
  return *count;
}

}  // namespace

Result<DynamicSegment> DynamicSegment::parse(std::span<const std::uint8_t> segment,
                                             std::uint64_t at) {
  DynamicSegment dynamic;
  ByteReader in(segment, at);
  while (!in.at_end()) {
    GANTRY_TRY(const std::uint64_t key, in.read_u64("dynamic tag"));
    const std::uint64_t value_at = in.offset();
    GANTRY_TRY(const std::uint64_t value, in.read_u64("dynamic value"));
    switch (key) {
      case tag::end:
        return dynamic;
      case tag::needed:
        dynamic.needed.push_back({value, value_at});
        break;
      case tag::hash:
        dynamic.hash = {value, value_at};
        break;
      case tag::gnu_hash:
        dynamic.gnu_hash = {value, value_at};
        break;
      case tag::strings:
        dynamic.strings = {value, value_at};
        break;
      case tag::string_bytes:
        dynamic.string_bytes = {value, value_at};
        break;
      case tag::symbols:
        dynamic.symbols = {value, value_at};
        break;
      case tag::symbol_entry_bytes:
        dynamic.symbol_entry_bytes = {value, value_at};
        break;
      case tag::soname:
        dynamic.soname = {value, value_at};
        break;
      case tag::rpath:
        dynamic.rpath = {value, value_at};
        break;
      case tag::runpath:
        dynamic.runpath = {value, value_at};
        break;
      case tag::text_relocations:
        dynamic.text_relocations = true;
        break;
      case tag::bind_now:
        dynamic.bind_now = true;
        break;
      case tag::flags:
        dynamic.flags = value;
        break;
      case tag::flags_1:
        dynamic.flags_1 = value;
        break;
      case tag::versions:
        dynamic.versions = {value, value_at};
        break;
      case tag::version_needs:
        dynamic.version_needs = {value, value_at};
        break;
      case tag::version_need_count:
        dynamic.version_need_count = {value, value_at};
        break;
      default:
        break;
    }
  }
  return dynamic;
}

Result<std::span<const std::uint8_t>> bytes_behind(const ElfImage& image, const DynamicValue& entry,
                                                   std::string_view name) {
  return image.bytes_to_segment_end(entry.value, {name, entry.at});
}

Result<std::span<const std::uint8_t>> symbol_table(const ElfImage& image,
                                                   const DynamicSegment& dynamic) {
  if (dynamic.symbol_entry_bytes && dynamic.symbol_entry_bytes->value != symbol_bytes) {
    return malformed(dynamic.symbol_entry_bytes->at, "DT_SYMENT is ",
                     dynamic.symbol_entry_bytes->value, ", expected ", symbol_bytes);
  }
  GANTRY_TRY(const auto room, bytes_behind(image, *dynamic.symbols, "DT_SYMTAB"));
  GANTRY_TRY(const std::uint64_t count, count_symbols(image, dynamic, room.size()));
  if (count > room.size() / symbol_bytes) {
    return malformed(image.offset_in_file(room), "dynamic symbols: count ", count, ", room for ",
                     room.size() / symbol_bytes);
  }
  return room.first(count * symbol_bytes);
}

}  // namespace gantry
