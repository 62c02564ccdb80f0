// SPDX-License-Identifier: Apache-2.0
//
// What the system's linker requires of a library beside the tables that check_link() checks.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// Returns why the system's linker makes the stacks of the process executable when it opens the
// library, "requires an executable stack"; empty: it does not.
//
// source   glibc elf/dl-load.c, sysdeps/*/stackinfo.h
std::string_view executable_stack_cause(const ElfFile& elf);

// Returns the alignment of a loaded segment that is not a multiple of this host's pages, which the
// system's linker refuses; 0: there is none.
//
// source   glibc elf/dl-load.c
std::uint64_t alignment_below_page(const ElfFile& elf);
// Returns what follows the name of a file with such an alignment, for messages.
std::string page_text(std::uint64_t alignment);

}  // namespace gantry
