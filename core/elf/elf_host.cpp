// SPDX-License-Identifier: Apache-2.0
#include "core/elf/elf_host.hpp"

namespace gantry {

std::string_view executable_stack_cause(const ElfFile& elf) {
  if (elf.flags().executable_stack) return "requires an executable stack";
  // Without the header the kernel's default applies, which is executable on x86-64.
  if (!elf.flags().stack_header && elf.machine() == ElfMachine::x86_64)
    return "has no PT_GNU_STACK header, which implies an executable stack";
  return {};
}

}  // namespace gantry
