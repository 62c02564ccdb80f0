// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_machine.hpp"

#include <gantry/concat.hpp>

#include <unistd.h>

namespace gantry {

std::string_view executable_stack_cause(const ElfFile& elf) {
  if (elf.flags().executable_stack) return "requires an executable stack";
  // Without the header the kernel's default applies, which is executable on x86-64.
  if (!elf.flags().stack_header && elf.machine() == ElfMachine::x86_64)
    return "has no PT_GNU_STACK header, which implies an executable stack";
  return {};
}

namespace {

std::uint64_t host_page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

std::uint64_t alignment_below_page(const ElfFile& elf) {
  for (const ElfSegment& segment : elf.image().segments()) {
    if (segment.type == segment_type::load && segment.alignment % host_page_bytes() != 0)
      return segment.alignment;
  }
  return 0;
}

std::string page_text(std::uint64_t alignment) {
  return concat(" is aligned to ", alignment, " bytes, pages of this host have ", host_page_bytes(),
                "; link it with -Wl,-z,max-page-size=65536");
}

}  // namespace gantry
