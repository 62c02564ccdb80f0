// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_relocations.hpp"

#include "core/formats/elf/elf_relocation_tables.hpp"

#include <gantry/byte_reader.hpp>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

namespace gantry {
namespace {

// DT_RELA
constexpr std::uint64_t relocation_tag = 7;

constexpr std::uint64_t type_at = 8, symbol_at = 12, addend_at = 16;

enum class Kind : std::uint8_t {
  // writes nothing
  none,
  // writes the address of the addend
  relative,
  // writes the address of the symbol plus the addend
  absolute,
  // writes 8 bytes of another value
  word,
  // writes 4 bytes
  half,
  // writes the address of the symbol; has no addend
  symbol,
  // copies a symbol of another library, which only programs do
  copy,
  // calls the function at the addend and writes its result
  indirect,
  // writes the module or the offset of a thread-local symbol
  tls,
  // the same, 16 bytes
  tls_descriptor,
};

struct TypeKind {
  std::uint32_t type;
  Kind kind;
};

// Frequent types first. Other types are words.
//
// source   System V ABI, AMD64 supplement, table 4.10
constexpr TypeKind kinds_on_x86_64[] = {
    {8, Kind::relative}, {6, Kind::symbol},    {7, Kind::symbol}, {1, Kind::absolute},
    {0, Kind::none},     {2, Kind::half},      {10, Kind::half},  {32, Kind::half},
    {16, Kind::tls},     {17, Kind::tls},      {18, Kind::tls},   {36, Kind::tls_descriptor},
    {5, Kind::copy},     {37, Kind::indirect},
};

// source   ELF for the Arm 64-bit architecture, section "Dynamic relocations"
constexpr TypeKind kinds_on_aarch64[] = {
    {1027, Kind::relative},
    {1025, Kind::symbol},
    {1026, Kind::symbol},
    {257, Kind::absolute},
    {0, Kind::none},
    {258, Kind::half},
    {261, Kind::half},
    {1028, Kind::tls},
    {1029, Kind::tls},
    {1030, Kind::tls},
    {1031, Kind::tls_descriptor},
    {1024, Kind::copy},
    {1032, Kind::indirect},
};

std::uint64_t width_of(Kind kind) {
  if (kind == Kind::half) return 4;
  return kind == Kind::tls_descriptor ? 16 : 8;
}

class Checker {
 public:
  Checker(const ElfFile& elf, ElfMemory& memory, FunctionArrays& arrays)
      : elf_(elf), memory_(memory), arrays_(arrays), symbol_count_(elf.symbols().size() + 1) {
    kinds_ = kinds_on_aarch64;
    if (elf.machine() == ElfMachine::x86_64) kinds_ = kinds_on_x86_64;
    for (const ElfSegment& segment : elf.image().segments()) {
      if (segment.type == segment_type::tls && segment.memory_size != 0) has_tls_ = true;
      if (segment.type == segment_type::dynamic) {
        dynamic_begin_ = segment.address;
        dynamic_end_ = segment.address + segment.memory_size;
      }
    }
  }

  // relative_count  the first entries, which are relative
  Status check_table(std::span<const std::uint8_t> table, std::uint64_t relative_count) {
    ByteReader in(table, table.empty() ? 0 : elf_.image().offset_in_file(table));
    for (std::uint64_t i = 0; !in.at_end(); ++i) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const auto entry, in.read_record<Relocation>("relocation"));
      const Kind kind = kind_of(entry.type);
      if (entry.symbol >= symbol_count_) {
        return malformed(at + symbol_at, "relocation names symbol ", std::uint32_t{entry.symbol},
                         ", symbol count is ", symbol_count_);
      }
      if (i < relative_count && kind != Kind::relative) {
        return malformed(at + type_at, "relocation ", i, " is of type ", std::uint32_t{entry.type},
                         ", the first ", relative_count, " are relative by DT_RELACOUNT");
      }
      if (kind == Kind::none) {
        if (entry.address == 0 && entry.symbol == 0) continue;
        return malformed(at + type_at, "relocation for address ", Hex{std::uint64_t{entry.address}},
                         " has no type");
      }
      GANTRY_CHECK(check_target(entry.address, width_of(kind), at));
      if (kind >= Kind::symbol) GANTRY_CHECK(check_kind(kind, entry, at));
      if (arrays_.may_overlap(entry.address, width_of(kind))) {
        GANTRY_CHECK(check_function(kind, entry, at));
      }
    }
    return {};
  }

  // source   https://groups.google.com/g/generic-abi/c/bX460iggiKg
  Status check_packed(std::span<const std::uint8_t> table) {
    ByteReader in(table, table.empty() ? 0 : elf_.image().offset_in_file(table));
    std::optional<std::uint64_t> next;
    while (!in.at_end()) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const std::uint64_t word, in.read_u64("packed relocation"));
      if ((word & 1) == 0) {
        GANTRY_CHECK(check_word(word, at));
        next = word + 8;
        continue;
      }
      if (!next) return malformed(at, "DT_RELR begins with the bitmap ", Hex{word});
      // Bit i + 1 is for the word i.
      const std::uint64_t bits = word >> 1;
      const auto size = std::uint64_t{8} * static_cast<std::uint64_t>(std::bit_width(bits));
      const ElfSegment* const segment = memory_.segment_of(*next, size);
      const bool is_plain = segment != nullptr && segment->is_writable() &&
                            !overlaps_dynamic(*next, size) && !arrays_.may_overlap(*next, size);
      if (!is_plain) {
        for (std::uint64_t left = bits; left != 0; left &= left - 1) {
          const auto i = static_cast<std::uint64_t>(std::countr_zero(left));
          GANTRY_CHECK(check_word(*next + 8 * i, at));
        }
      }
      *next += std::uint64_t{8} * 63;
    }
    return {};
  }

 private:
  Kind kind_of(std::uint32_t type) const {
    const auto found = std::ranges::find(kinds_, type, &TypeKind::type);
    return found != kinds_.end() ? found->kind : Kind::word;
  }

  bool overlaps_dynamic(std::uint64_t address, std::uint64_t size) const {
    return address < dynamic_end_ && address + size > dynamic_begin_;
  }

  Status check_target(std::uint64_t address, std::uint64_t width, std::uint64_t at) {
    const ElfSegment* const segment = memory_.segment_of(address, width);
    if (segment == nullptr) {
      return malformed(at, "relocation writes ", width, " bytes to address ", Hex{address},
                       ", which is not inside a loaded segment");
    }
    if (!segment->is_writable() && !elf_.flags().text_relocations) {
      return malformed(at, "relocation writes ", width, " bytes to address ", Hex{address},
                       ", in a segment that is not writable; file has no DT_TEXTREL");
    }
    if (overlaps_dynamic(address, width)) {
      return malformed(at, "relocation writes ", width, " bytes to address ", Hex{address},
                       ", in the dynamic segment");
    }
    return {};
  }

  Status check_word(std::uint64_t address, std::uint64_t at) {
    GANTRY_CHECK(check_target(address, 8, at));
    return arrays_.relocate_in_place(address, at);
  }

  // Returns NULL for the null symbol.
  const ElfSymbol* symbol_of(const Relocation& entry) const {
    return entry.symbol != 0 ? &elf_.symbols()[entry.symbol - 1] : nullptr;
  }

  Status check_kind(Kind kind, const Relocation& entry, std::uint64_t at) {
    if (kind == Kind::symbol) {
      if (entry.symbol == 0) {
        return malformed(at + symbol_at, "relocation of type ", std::uint32_t{entry.type},
                         " names no symbol");
      }
      if (entry.address % 8 == 0) return check_addend(elf_, entry, at);
      return malformed(at, "relocation of type ", std::uint32_t{entry.type}, " writes to address ",
                       Hex{std::uint64_t{entry.address}}, ", expected a multiple of 8");
    }
    if (kind == Kind::copy) {
      return malformed(at + type_at, "relocation is a copy relocation, which is for programs only");
    }
    if (kind == Kind::indirect) {
      if (memory_.is_code(entry.addend)) return {};
      return malformed(at + addend_at, "relocation calls a function at ",
                       Hex{std::uint64_t{entry.addend}},
                       ", which is not inside an executable segment");
    }
    const ElfSymbol* const symbol = symbol_of(entry);
    if (symbol != nullptr && symbol->type != SymbolType::tls) {
      return malformed(at + symbol_at, "relocation for thread-local storage names symbol ",
                       std::uint32_t{entry.symbol}, ", which is not thread-local");
    }
    if (!has_tls_ && (symbol == nullptr || symbol->defined())) {
      return malformed(at + type_at,
                       "relocation is for thread-local storage of the file, which has no PT_TLS");
    }
    return {};
  }

  Status check_function(Kind kind, const Relocation& entry, std::uint64_t at) {
    if (kind == Kind::relative) return arrays_.relocate(entry.address, entry.addend, at);
    if (kind == Kind::indirect) return arrays_.relocate(entry.address, std::nullopt, at);
    if (kind == Kind::absolute) {
      const ElfSymbol* const symbol = symbol_of(entry);
      if (symbol != nullptr && !symbol->defined()) {
        return arrays_.relocate(entry.address, std::nullopt, at);
      }
      return arrays_.relocate(entry.address, (symbol ? symbol->value : 0) + entry.addend, at);
    }
    return arrays_.refuse(entry.address, width_of(kind), at);
  }

  const ElfFile& elf_;
  ElfMemory& memory_;
  FunctionArrays& arrays_;
  std::span<const TypeKind> kinds_;
  // with the null symbol
  std::uint64_t symbol_count_;
  std::uint64_t dynamic_begin_ = 0, dynamic_end_ = 0;
  bool has_tls_ = false;
};

// Checks an entry that must be present beside a table.
Status check_value(const DynamicSegment& dynamic, std::uint64_t table, std::string_view table_name,
                   std::uint64_t tag, std::string_view name, std::uint64_t expected) {
  const DynamicValue* const beside = dynamic.find(table);
  const DynamicValue* const entry = dynamic.find(tag);
  if (beside == nullptr) return {};
  if (entry == nullptr) return malformed(beside->at, table_name, " has no ", name);
  if (entry->value == expected) return {};
  return malformed(entry->at, name, " is ", entry->value, ", expected ", expected);
}

}  // namespace

Status check_relocations(const ElfFile& elf, ElfMemory& memory, FunctionArrays& arrays) {
  namespace tag = dynamic_tag;
  const DynamicSegment& dynamic = elf.dynamic();
  if (const DynamicValue* const entry = dynamic.find(tag::short_relocations)) {
    return malformed(entry->at, "file has DT_REL, this machine uses DT_RELA");
  }
  GANTRY_TRY(const RelocationTables tables, relocation_tables(elf));
  const auto [packed, table, plt] = tables;
  GANTRY_CHECK(check_value(dynamic, tag::packed_relocations, "DT_RELR",
                           tag::packed_relocation_entry_bytes, "DT_RELRENT", 8));
  GANTRY_CHECK(check_value(dynamic, tag::relocations, "DT_RELA", tag::relocation_entry_bytes,
                           "DT_RELAENT", sizeof(Relocation)));
  GANTRY_CHECK(check_value(dynamic, tag::plt_relocations, "DT_JMPREL", tag::plt_relocation_tag,
                           "DT_PLTREL", relocation_tag));
  const DynamicValue* const plt_tag = dynamic.find(tag::plt_relocation_tag);
  if (plt_tag != nullptr && dynamic.find(tag::plt_relocations) == nullptr) {
    return malformed(plt_tag->at, "DT_PLTREL has no DT_JMPREL");
  }
  // If both end at one address, the linker subtracts the size of DT_JMPREL from DT_RELASZ.
  if (!table.empty() && !plt.empty() && plt.data() < table.data() &&
      plt.data() + plt.size() == table.data() + table.size()) {
    return malformed(dynamic.find(tag::plt_relocations)->at,
                     "DT_JMPREL begins before DT_RELA and ends with it");
  }
  const std::uint64_t count = table.size() / sizeof(Relocation);
  const DynamicValue* const relative = dynamic.find(tag::relative_count);
  if (relative != nullptr && relative->value > count) {
    return malformed(relative->at, "DT_RELACOUNT is ", relative->value, ", DT_RELA has ", count,
                     " relocations");
  }
  Checker checker(elf, memory, arrays);
  // In the order in which the linker applies them.
  GANTRY_CHECK(checker.check_packed(packed));
  GANTRY_CHECK(checker.check_table(table, relative ? relative->value : 0));
  return checker.check_table(plt, 0);
}

}  // namespace gantry
