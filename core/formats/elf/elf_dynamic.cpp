// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_dynamic.hpp"

#include "core/formats/elf/elf_symbols.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>

#include <algorithm>
#include <optional>

namespace gantry {
namespace {

// SHT_DYNSYM
constexpr std::uint32_t section_dynamic_symbols = 11;

// Counts the symbols of a file whose only hash table is an empty GNU hash table. GNU ld writes the
// same empty table whatever the number of undefined symbols. The count comes from the section table
// if there is one, else from the start of the table that follows the symbols; otherwise it is
// unknown, and only the null symbol is counted.
std::uint64_t count_unhashed(const ElfImage& image, const DynamicSegment& dynamic,
                             std::uint64_t begin, std::uint64_t room) {
  for (const ElfSection& section : image.sections()) {
    if (section.type == section_dynamic_symbols && section.address == begin &&
        section.size <= room) {
      return section.size / symbol_bytes;
    }
  }
  std::uint64_t end = UINT64_MAX;
  for (const std::uint64_t tag : {dynamic_tag::strings, dynamic_tag::hash, dynamic_tag::gnu_hash,
                                  dynamic_tag::versions, dynamic_tag::version_needs}) {
    if (const std::uint64_t table = dynamic.value(tag); table > begin) end = std::min(end, table);
  }
  // the null symbol
  if (end == UINT64_MAX) return 1;
  return std::min(end - begin, room) / symbol_bytes;
}

Result<std::uint64_t> count_symbols(const ElfImage& image, const DynamicSegment& dynamic,
                                    const DynamicValue& symbols, std::uint64_t room) {
  const DynamicValue* const hash = dynamic.find(dynamic_tag::hash);
  const DynamicValue* const gnu_hash = dynamic.find(dynamic_tag::gnu_hash);
  if (!hash && !gnu_hash) {
    return malformed(symbols.at,
                     "dynamic symbols cannot be counted: file has neither DT_HASH nor DT_GNU_HASH")
        .with_reason("ELF_HASH");
  }
  std::optional<std::uint64_t> count;
  if (hash) {
    GANTRY_TRY(const auto table, bytes_behind(image, *hash, "DT_HASH"));
    GANTRY_TRY(count, symbol_count_of_hash(table, image.offset_in_file(table)));
  }
  if (gnu_hash) {
    GANTRY_TRY(const auto table, bytes_behind(image, *gnu_hash, "DT_GNU_HASH"));
    GANTRY_TRY(const HashedSymbols hashed, read_gnu_hash(table, image.offset_in_file(table)));
    if (count && hashed.end > *count) {
      return malformed(image.offset_in_file(table), "DT_GNU_HASH counts ", hashed.end,
                       " symbols, DT_HASH counts ", *count)
          .with_reason("ELF_HASH");
    }
    if (!count) {
      // 1: the null symbol alone
      const bool is_empty = hashed.end <= 1;
      count = is_empty ? count_unhashed(image, dynamic, symbols.value, room) : hashed.end;
    }
  }
  return *count;
}

}  // namespace

std::size_t DynamicSegment::index_of(std::uint64_t tag) {
  if (tag < generic_count) return tag;
  if (tag >= first_gnu && tag < first_gnu + gnu_count) return generic_count + (tag - first_gnu);
  return generic_count + gnu_count + (tag == dynamic_tag::gnu_hash ? 0 : 1);
}

const DynamicValue* DynamicSegment::find(std::uint64_t tag) const {
  const std::size_t index = index_of(tag);
  return index < entries_.size() && entries_[index].at != 0 ? &entries_[index] : nullptr;
}

Result<DynamicSegment> DynamicSegment::parse(std::span<const std::uint8_t> segment,
                                             std::uint64_t at) {
  DynamicSegment dynamic;
  ByteReader in(segment, at);
  while (!in.at_end()) {
    GANTRY_TRY(const std::uint64_t tag, in.read_u64("dynamic tag"));
    const std::uint64_t value_at = in.offset();
    GANTRY_TRY(const std::uint64_t value, in.read_u64("dynamic value"));
    if (tag == dynamic_tag::end) {
      dynamic.is_terminated_ = true;
      break;
    }
    if (tag == dynamic_tag::needed) dynamic.needed_.push_back({value, value_at});
    if (tag == dynamic_tag::auxiliary || tag == dynamic_tag::filter) {
      dynamic.filters_.push_back({value, value_at});
    }
    const std::size_t index = index_of(tag);
    if (index < dynamic.entries_.size()) dynamic.entries_[index] = {value, value_at};
  }
  return dynamic;
}

Result<std::span<const std::uint8_t>> bytes_behind(const ElfImage& image, const DynamicValue& entry,
                                                   std::string_view name) {
  return image.bytes_to_segment_end(entry.value, {name, entry.at});
}

Result<std::span<const std::uint8_t>> sized_table(const ElfImage& image,
                                                  const DynamicSegment& dynamic,
                                                  const SizedTable& table) {
  const DynamicValue* const address = dynamic.find(table.address_tag);
  const DynamicValue* const size = dynamic.find(table.size_tag);
  if (!address && !size) return std::span<const std::uint8_t>();
  if (!size) return malformed(address->at, table.name, " has no ", table.size_name);
  if (!address) return malformed(size->at, table.size_name, " has no ", table.name);
  if (size->value % table.entry_bytes != 0) {
    return malformed(size->at, table.size_name, " is ", size->value, ", expected a multiple of ",
                     table.entry_bytes);
  }
  if (size->value == 0) return std::span<const std::uint8_t>();
  GANTRY_TRY(const auto room, bytes_behind(image, *address, table.name));
  if (size->value > room.size()) {
    return malformed(size->at, table.size_name, " is ", ByteCount(size->value), ", room for ",
                     ByteCount(room.size()));
  }
  return room.first(size->value);
}

Result<std::span<const std::uint8_t>> string_table(const ElfImage& image,
                                                   const DynamicSegment& dynamic) {
  const DynamicValue* const strings = dynamic.find(dynamic_tag::strings);
  const DynamicValue* const size = dynamic.find(dynamic_tag::string_bytes);
  if (!strings || !size) return std::span<const std::uint8_t>();
  GANTRY_TRY(const auto room, bytes_behind(image, *strings, "DT_STRTAB"));
  if (size->value > room.size()) {
    return malformed(size->at, "DT_STRSZ is ", ByteCount(size->value), ", room for ",
                     ByteCount(room.size()));
  }
  return room.first(size->value);
}

Result<std::span<const std::uint8_t>> symbol_table(const ElfImage& image,
                                                   const DynamicSegment& dynamic,
                                                   const DynamicValue& symbols) {
  const DynamicValue* const entry_bytes = dynamic.find(dynamic_tag::symbol_entry_bytes);
  if (entry_bytes && entry_bytes->value != symbol_bytes) {
    return malformed(entry_bytes->at, "DT_SYMENT is ", entry_bytes->value, ", expected ",
                     symbol_bytes);
  }
  GANTRY_TRY(const auto room, bytes_behind(image, symbols, "DT_SYMTAB"));
  GANTRY_TRY(const std::uint64_t count, count_symbols(image, dynamic, symbols, room.size()));
  if (count > room.size() / symbol_bytes) {
    return malformed(image.offset_in_file(room), "dynamic symbols: count ", count, ", room for ",
                     room.size() / symbol_bytes);
  }
  return room.first(count * symbol_bytes);
}

}  // namespace gantry
