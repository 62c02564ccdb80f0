// SPDX-License-Identifier: Apache-2.0
#include "core/elf/elf_relocation_tables.hpp"

namespace gantry {

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
