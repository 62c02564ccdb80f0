// SPDX-License-Identifier: Apache-2.0
//
// The pages of a library that are needed by nothing but the reader of its container.
#pragma once

#include "core/base/sealed_memory.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <cstdint>
#include <span>

namespace gantry {

// Returns the whole pages of a library's container. A copy of the library for the system's linker
// does not need them, because the container is read from the library's own file.
//
// elf        for this machine; check_link() accepts it
// container  of elf.bytes()
// returns    no pages if the library may use them: they are writable, a relocation stores or loads
//            an address in the container, another symbol is there, or a table that the linker reads
// costs      O(symbols + relocations)
FileHole unread_pages(const ElfFile& elf, std::span<const std::uint8_t> container);

}  // namespace gantry
