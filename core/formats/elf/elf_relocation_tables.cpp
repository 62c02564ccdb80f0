// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_relocation_tables.hpp"

#include <gantry/quoted.hpp>

#include <cstddef>
#include <string_view>

namespace gantry {

Status check_addend(const ElfFile& elf, const Relocation& entry, std::uint64_t at) {
  const SymbolRelocationTypes types = symbol_relocation_types(elf.machine());
  const bool is_slot = entry.type == types.jump_slot;
  if (entry.addend == 0 || (!is_slot && entry.type != types.address)) return {};
  const std::string_view machine = elf.machine() == ElfMachine::x86_64 ? "X86_64" : "AARCH64";
  const bool has_name = entry.symbol != 0 && entry.symbol <= elf.symbols().size();
  const std::string_view name = has_name ? elf.symbols()[entry.symbol - 1].name : "";
  return malformed(at + offsetof(Relocation, addend), "relocation R_", machine,
                   is_slot ? "_JUMP_SLOT" : "_GLOB_DAT", " of symbol ", quoted(name),
                   " has the addend ", Hex{std::uint64_t{entry.addend}}, ", expected 0");
}

Result<RelocationTables> relocation_tables(const ElfFile& elf) {
  namespace tag = dynamic_tag;
  const DynamicSegment& dynamic = elf.dynamic();
  RelocationTables tables;
  GANTRY_TRY(tables.packed, sized_table(elf.image(), dynamic,
                                        {"DT_RELR", "DT_RELRSZ", tag::packed_relocations,
                                         tag::packed_relocation_bytes, 8}));
  GANTRY_TRY(tables.data, sized_table(elf.image(), dynamic,
                                      {"DT_RELA", "DT_RELASZ", tag::relocations,
                                       tag::relocation_bytes, sizeof(Relocation)}));
  GANTRY_TRY(tables.calls, sized_table(elf.image(), dynamic,
                                       {"DT_JMPREL", "DT_PLTRELSZ", tag::plt_relocations,
                                        tag::plt_relocation_bytes, sizeof(Relocation)}));
  return tables;
}

}  // namespace gantry
