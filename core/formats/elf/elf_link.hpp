// SPDX-License-Identifier: Apache-2.0
//
// Checks what the system's linker uses of a shared library without a check of its own. Damage there
// would end the process inside dlopen() or dlclose().
//
//     elf_memory.hpp (segments) -> elf_function_arrays.hpp -> elf_relocations.hpp
//                                  elf_versions.hpp           -> elf_link.hpp
//
// The check does not find
// - an address that leads to another place inside the library: DT_INIT and DT_FINI, a function in
//   an array, the value of a symbol, the target of a relocation
// - a relocation that is missing or that names another symbol; a symbol that becomes an indirect
//   function
// - damaged code, data, unwind tables (PT_GNU_EH_FRAME) and notes
// - thread-local data larger than the memory: glibc ends the process at the first access
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

namespace gantry {

// elf      a complete shared library for this machine
// returns  malformed, reason ELF_DYNAMIC, at the damaged field
// costs    O(size of the dynamic segment and of the tables that it names)
// source   glibc elf/dl-load.c, elf/get-dynamic-info.h, elf/do-rel.h, elf/dl-version.c
Status check_link(const ElfFile& elf);

}  // namespace gantry
