// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_link.hpp"

#include "core/formats/elf/elf_function_arrays.hpp"
#include "core/formats/elf/elf_memory.hpp"
#include "core/formats/elf/elf_relocations.hpp"
#include "core/formats/elf/elf_symbols.hpp"
#include "core/formats/elf/elf_versions.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/quoted.hpp>

#include <string_view>

namespace gantry {
namespace {

// SHN_ABS
constexpr std::uint16_t absolute_section = 0xfff1;

// File offset of the dynamic segment.
std::uint64_t dynamic_at(const ElfImage& image) {
  for (const ElfSegment& segment : image.segments()) {
    if (segment.type == segment_type::dynamic) return segment.offset;
  }
  return 0;
}

Status check_present(const ElfFile& elf, std::uint64_t tag, std::string_view name) {
  if (elf.dynamic().find(tag) != nullptr) return {};
  return malformed(dynamic_at(elf.image()), "dynamic segment has no ", name);
}

Status check_code(const ElfFile& elf, ElfMemory& memory, std::uint64_t tag, std::string_view name) {
  const DynamicValue* const entry = elf.dynamic().find(tag);
  if (entry == nullptr || memory.is_code(entry->value)) return {};
  return malformed(entry->at, name, " is ", Hex{entry->value},
                   ", which is not inside an executable segment");
}

Status check_strings(const ElfFile& elf) {
  GANTRY_TRY(const auto strings, string_table(elf.image(), elf.dynamic()));
  if (strings.empty() || strings.back() != 0) {
    return malformed(elf.dynamic().find(dynamic_tag::string_bytes)->at, "string table of ",
                     ByteCount(strings.size()), " does not end with NUL");
  }
  for (const DynamicValue& entry : elf.dynamic().filters()) {
    if (entry.value < strings.size()) continue;
    return malformed(entry.at, "filter is at offset ", entry.value, ", string table has ",
                     ByteCount(strings.size()));
  }
  return {};
}

Status check_symbols(const ElfFile& elf, ElfMemory& memory) {
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (!symbol.defined()) {
      // The linker would take the symbol itself for its definition.
      const bool is_own = symbol.binding == SymbolBinding::local ||
                          symbol.visibility != SymbolVisibility::normal || symbol.value != 0;
      if (!is_own) continue;
      return malformed(symbol.at, "undefined symbol ", quoted(symbol.name),
                       " is local, is not visible or has a value");
    }
    if (symbol.section == absolute_section) continue;
    const bool is_function =
        symbol.type == SymbolType::function || symbol.type == SymbolType::ifunc;
    if (is_function && !memory.is_code(symbol.value)) {
      return malformed(symbol.at, "function ", quoted(symbol.name), " is at ", Hex{symbol.value},
                       ", which is not inside an executable segment");
    }
    if (symbol.type == SymbolType::object &&
        memory.segment_of(symbol.value, symbol.size) == nullptr) {
      return malformed(symbol.at, "variable ", quoted(symbol.name), " of ", symbol.size,
                       " bytes is at ", Hex{symbol.value},
                       ", which is not inside a loaded segment");
    }
  }
  return {};
}

Status check(const ElfFile& elf) {
  GANTRY_TRY(ElfMemory memory, ElfMemory::of(elf.image()));
  const DynamicSegment& dynamic = elf.dynamic();
  if (!dynamic.is_terminated()) {
    return malformed(dynamic_at(elf.image()), "dynamic segment does not end with DT_NULL");
  }
  GANTRY_CHECK(check_present(elf, dynamic_tag::strings, "DT_STRTAB"));
  GANTRY_CHECK(check_present(elf, dynamic_tag::string_bytes, "DT_STRSZ"));
  GANTRY_CHECK(check_present(elf, dynamic_tag::symbols, "DT_SYMTAB"));
  GANTRY_CHECK(check_strings(elf));
  if (const DynamicValue* const hash = dynamic.find(dynamic_tag::hash)) {
    GANTRY_TRY(const auto table, bytes_behind(elf.image(), *hash, "DT_HASH"));
    GANTRY_CHECK(check_hash_chains(table, elf.image().offset_in_file(table)));
  }
  GANTRY_CHECK(check_code(elf, memory, dynamic_tag::init, "DT_INIT"));
  GANTRY_CHECK(check_code(elf, memory, dynamic_tag::fini, "DT_FINI"));
  GANTRY_CHECK(check_symbols(elf, memory));
  GANTRY_TRY(FunctionArrays arrays, FunctionArrays::of(elf.image(), dynamic, memory));
  GANTRY_CHECK(check_relocations(elf, memory, arrays));
  GANTRY_CHECK(arrays.check_complete());
  return check_versions(elf);
}

}  // namespace

Status check_link(const ElfFile& elf) {
  Status checked = check(elf);
  if (checked.ok()) return {};
  return std::move(checked).failure().with_reason("ELF_DYNAMIC");
}

}  // namespace gantry
