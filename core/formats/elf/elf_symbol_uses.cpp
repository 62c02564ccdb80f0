// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_symbol_uses.hpp"

#include "core/formats/elf/elf_relocation_tables.hpp"

#include <gantry/byte_reader.hpp>

#include <algorithm>

namespace gantry {
namespace {

// Calls `use` with each relocation in a table that refers to one of the symbols.
template <class Use>
Status visit_uses(std::span<const std::uint8_t> table, std::span<const std::size_t> symbols,
                  const Use& use) {
  ByteReader in(table);
  while (!in.at_end()) {
    GANTRY_TRY(const auto entry, in.read_record<Relocation>("relocation"));
    if (entry.symbol == 0) continue;
    const std::size_t symbol = entry.symbol - 1;
    if (std::ranges::binary_search(symbols, symbol)) use(entry, symbol);
  }
  return {};
}

}  // namespace

Result<SymbolUses> uses_of(const ElfFile& elf, std::span<const std::size_t> symbols) {
  const std::uint32_t jump_slot = symbol_relocation_types(elf.machine()).jump_slot;
  SymbolUses uses;
  GANTRY_TRY(const RelocationTables tables, relocation_tables(elf));
  GANTRY_CHECK(visit_uses(tables.data, symbols,
                          [&](const Relocation&, std::size_t) { uses.has_others = true; }));
  GANTRY_CHECK(visit_uses(tables.calls, symbols, [&](const Relocation& entry, std::size_t symbol) {
    if (entry.type == jump_slot) {
      uses.slots.push_back({entry.address, symbol});
    } else {
      uses.has_others = true;
    }
  }));
  return uses;
}

}  // namespace gantry
