// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_versions.hpp"

#include "core/formats/elf/elf_symbols.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

// Bit 15 hides a version.
constexpr std::uint16_t index_bits = 0x7fff;
// VER_FLG_BASE: the file itself
constexpr std::uint16_t base_flag = 1;

struct [[gnu::packed]] Need {
  std::uint16_t version, count;
  std::uint32_t file, first, next;
};
struct [[gnu::packed]] NeededVersion {
  std::uint32_t hash;
  std::uint16_t flags, index;
  std::uint32_t name, next;
};
struct [[gnu::packed]] Definition {
  std::uint16_t version, flags, index, count;
  std::uint32_t hash, first, next;
};
struct [[gnu::packed]] DefinitionName {
  std::uint32_t name, next;
};

// A table from its begin to the end of its segment.
class VersionTable {
 public:
  VersionTable(std::span<const std::uint8_t> bytes, std::uint64_t at, std::string_view name)
      : bytes_(bytes), at_(at), name_(name), records_left_(bytes.size() / sizeof(DefinitionName)) {}

  std::uint64_t offset_in_file(std::uint64_t at) const { return at_ + at; }

  template <class Record>
  Result<Record> read(std::uint64_t at, const char* field) {
    // Records of a hostile file may overlap.
    if (at > bytes_.size() || records_left_-- == 0) {
      return malformed(at_, name_, " has a record at offset ", at, ", beyond the ",
                       ByteCount(bytes_.size()), " to the end of its segment");
    }
    return ByteReader(bytes_.subspan(at), at_ + at).read_record<Record>(field);
  }

  // Returns the offset of the next record; 0 after the last one.
  template <class Record>
  Result<std::uint64_t> after(std::uint64_t at, const Record& record) const {
    const std::uint32_t step = record.next;
    if (step == 0) return std::uint64_t{0};
    if (step >= sizeof(Record)) return at + step;
    return malformed(at_ + at, name_, " has a record of ", ByteCount(sizeof(Record)),
                     ", the next one is ", ByteCount(step), " later");
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint64_t at_;
  std::string_view name_;
  std::uint64_t records_left_;
};

Result<VersionTable> table_of(const ElfFile& elf, const DynamicValue& entry,
                              std::string_view name) {
  GANTRY_TRY(const auto bytes, bytes_behind(elf.image(), entry, name));
  return VersionTable(bytes, elf.image().offset_in_file(bytes), name);
}

// The functions below raise `highest` to the highest index of a version.

Status check_needs(const ElfFile& elf, const DynamicValue& entry, StringTable& strings,
                   std::uint16_t& highest) {
  std::vector<std::string_view> libraries = elf.needed();
  std::sort(libraries.begin(), libraries.end());
  GANTRY_TRY(VersionTable table, table_of(elf, entry, "DT_VERNEED"));
  std::uint64_t next = 0;
  do {
    const std::uint64_t at = next;
    GANTRY_TRY(const auto need, table.read<Need>(at, "version need"));
    GANTRY_TRY(const auto file, strings.name(need.file, "version file name"));
    if (!std::binary_search(libraries.begin(), libraries.end(), file)) {
      return malformed(table.offset_in_file(at), "DT_VERNEED requires versions of ", quoted(file),
                       ", which is not a needed library");
    }
    std::uint64_t version_at = at + need.first;
    do {
      GANTRY_TRY(const auto version, table.read<NeededVersion>(version_at, "needed version"));
      GANTRY_CHECK(strings.name(version.name, "version name"));
      highest = std::max<std::uint16_t>(highest, version.index & index_bits);
      GANTRY_TRY(version_at, table.after(version_at, version));
    } while (version_at != 0);
    GANTRY_TRY(next, table.after(at, need));
  } while (next != 0);
  return {};
}

Status check_definitions(const ElfFile& elf, const DynamicValue& entry, StringTable& strings,
                         std::uint16_t& highest) {
  GANTRY_TRY(VersionTable table, table_of(elf, entry, "DT_VERDEF"));
  std::uint64_t next = 0;
  do {
    const std::uint64_t at = next;
    GANTRY_TRY(const auto definition, table.read<Definition>(at, "version definition"));
    if ((definition.flags & base_flag) == 0) {
      GANTRY_TRY(const auto name,
                 table.read<DefinitionName>(at + definition.first, "version definition name"));
      GANTRY_CHECK(strings.name(name.name, "version name"));
    }
    highest = std::max<std::uint16_t>(highest, definition.index & index_bits);
    GANTRY_TRY(next, table.after(at, definition));
  } while (next != 0);
  return {};
}

Status check_indices(const ElfFile& elf, const DynamicValue& entry, std::uint16_t highest) {
  GANTRY_TRY(const auto bytes, bytes_behind(elf.image(), entry, "DT_VERSYM"));
  ByteReader in(bytes, elf.image().offset_in_file(bytes));
  const std::uint64_t count = elf.symbols().size() + 1;
  if (count > in.left() / 2) {
    return malformed(in.offset(), "DT_VERSYM has room for ", in.left() / 2,
                     " indices, symbol count is ", count);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = in.offset();
    GANTRY_TRY(const std::uint16_t index, in.read_u16("version index"));
    if ((index & index_bits) <= highest) continue;
    return malformed(at, "symbol ", i, " has version ", index & index_bits, ", the highest is ",
                     highest);
  }
  return {};
}

}  // namespace

Status check_versions(const ElfFile& elf) {
  const DynamicValue* const indices = elf.dynamic().find(dynamic_tag::versions);
  const DynamicValue* const needs = elf.dynamic().find(dynamic_tag::version_needs);
  const DynamicValue* const definitions = elf.dynamic().find(dynamic_tag::version_definitions);
  if (!indices && !needs && !definitions) return {};
  if (!indices) {
    return malformed((needs ? needs : definitions)->at, "file has ",
                     needs ? "DT_VERNEED" : "DT_VERDEF", " and no DT_VERSYM");
  }
  GANTRY_TRY(const auto names, string_table(elf.image(), elf.dynamic()));
  StringTable strings(names, names.empty() ? 0 : elf.image().offset_in_file(names));
  std::uint16_t highest = 0;
  if (needs) GANTRY_CHECK(check_needs(elf, *needs, strings, highest));
  if (definitions) GANTRY_CHECK(check_definitions(elf, *definitions, strings, highest));
  return check_indices(elf, *indices, highest);
}

}  // namespace gantry
