// SPDX-License-Identifier: Apache-2.0
//
// Writes a relocatable ELF object that contains the bytes of a container, without a compiler.
//
//     ELF header
//     .rodata             the container; more than 1 GiB on x86-64: .lrodata
//     .text, .init_array  of a system library: a constructor that registers the container
//     .note.GNU-stack     the code needs no executable stack
//     symbols, strings, relocations, section headers
#pragma once

#include "core/formats/elf/elf_types.hpp"
#include "core/writing/pieces.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <string>

namespace gantry {

struct ElfObject {
  // x86-64 or aarch64
  ElfMachine machine = host_machine();
  // global variable that contains the bytes; see core/formats/generation.hpp
  std::string symbol;
  // a power of two
  std::uint64_t alignment = 128;
  // Called with the symbol's name and address before main(); empty: none. See core/formats/generation.hpp.
  std::string register_function;
  // Adds a note, so that a library linked from the object has a program header for another
  // container; see free_program_header.hpp.
  bool reserve_header = false;
};

// Returns the object file. Equal input gives equal bytes.
//
// content  [in]   any size: above 1 GiB it is in the large data section, so that x86-64 code still
//                 reaches everything else with 32-bit offsets
// returns  unsupported  another machine
//          invalid      the alignment is no power of two, or a name is empty or contains NUL
Result<Pieces> write_elf_object(const ElfObject& object, Pieces content);

}  // namespace gantry
