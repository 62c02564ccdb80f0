// SPDX-License-Identifier: Apache-2.0
//
// Checks the relocation tables of a shared library: DT_RELA, DT_JMPREL and DT_RELR.
#pragma once

#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_function_arrays.hpp"
#include "core/formats/elf/elf_memory.hpp"

#include <gantry/result.hpp>

namespace gantry {

// Checks that the tables are inside the file parts of segments and that each relocation
// - writes to a writable segment, or to any with DT_TEXTREL, and not to the dynamic segment
// - names a symbol of the table; a relocation for thread-local storage names a TLS symbol or none,
//   and the library has a PT_TLS if the symbol is its own
// - has no addend if it is a GLOB_DAT or a JUMP_SLOT
// - is relative if it is one of the first DT_RELACOUNT
//
// elf      for this machine
// arrays   [in,out]  of that file; receives what relocations write to them
// returns  malformed, at the field of the relocation or of the dynamic entry
// costs    O(size of the tables); a few nanoseconds for each relocation
Status check_relocations(const ElfFile& elf, ElfMemory& memory, FunctionArrays& arrays);

}  // namespace gantry
