// SPDX-License-Identifier: Apache-2.0
//
// Program headers that a shared library can lose, so that one of its table is free for a further
// segment. The table itself cannot grow: sections follow it, and addresses are fixed.
//
//     PT_NULL              is unused.
//     PT_NOTE              is for debuggers, profilers and core dumps, which find the same notes by
//                          the section table; glibc checks the version of Linux in NT_GNU_ABI_TAG.
//                          Not droppable if it has the program properties (below) and no
//                          PT_GNU_PROPERTY leads to them.
//     PT_PHDR              is the address of the table: the linkers of glibc and musl find it in
//                          the first segment, too. Only programs need it.
//
// Not droppable: PT_GNU_PROPERTY (without it, processes with protected branches or shadow stacks
// refuse the library), PT_GNU_STACK (without it, the stack is executable), PT_GNU_EH_FRAME
// (exceptions), PT_GNU_RELRO, PT_DYNAMIC, PT_TLS, PT_LOAD.
#pragma once

#include "core/formats/elf/elf_image.hpp"

#include <gantry/result.hpp>

#include <cstddef>

namespace gantry {

// Owner of notes that reserve a program header for a container. Their PT_NOTE is dropped before
// others.
constexpr std::string_view reserve_note_owner = "gantry.reserve";

// Returns the index of a program header that can be dropped, in the order of the list above.
//
// image    of a complete shared library
// returns  unsupported, reason ELF_NO_HEADER, with the types of those that are there
Result<std::size_t> find_free_program_header(const ElfImage& image);

}  // namespace gantry
