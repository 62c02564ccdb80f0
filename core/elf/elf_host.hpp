// SPDX-License-Identifier: Apache-2.0
//
// What the system's linker requires of a library beside the tables that check_link() checks.
#pragma once

#include "core/elf/elf_file.hpp"

#include <string_view>

namespace gantry {

// Returns why the system's linker makes the stacks of the process executable when it opens the
// library, "requires an executable stack"; empty: it does not.
//
// source   glibc elf/dl-load.c, sysdeps/*/stackinfo.h
std::string_view executable_stack_cause(const ElfFile& elf);

}  // namespace gantry
