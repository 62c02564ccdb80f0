// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/elf/elf_types.hpp"

#include <cstdint>

namespace gantry::test {

// Returns the page size for which linkers align segments on this machine, unless an option states
// another one.
inline std::uint64_t linker_page_bytes() {
  return host_machine() == ElfMachine::aarch64 ? 0x10000 : 0x1000;
}

}  // namespace gantry::test
