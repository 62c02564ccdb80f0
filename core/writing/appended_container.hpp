// SPDX-License-Identifier: Apache-2.0
//
// Gives an existing shared library another container, which becomes a segment of its own:
//
//     library                                  result
//     header, program headers, symbols, ...    the same bytes, but for the parts below
//     .rodata with the old container           the same, unused
//     section names and headers                the same, unused
//                                              zeros up to a page
//                                              the new container
//                                              section names and headers, see container_section.hpp
//
//     ELF header        place and number of the section headers
//     program headers   one that the library can lose becomes the PT_LOAD of the container, after
//                       the other PT_LOAD entries, since their addresses must ascend
//     .dynsym, .symtab  value, size and section of the container's symbol; the numbers of sections
//                       behind that of the container
//
// The CPU code of an artifact exists nowhere else, so that it cannot be linked again. A container
// that was appended before is replaced, so that the file does not grow with each change. The result
// can be stripped, and what strip has written gets another container in the same way. A library
// without section headers gets none; strip does not accept it.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/writing/pieces.hpp"

#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <memory>
#include <string_view>

namespace gantry {

// Writes a copy of `library` to `out` in which `symbol` names the bytes of `container`. The
// container begins at a page of the file and of the memory: 4 KiB, on aarch64 64 KiB.
//
// symbol     [in]   an exported variable of the library
// container  [in]   not empty
// out        [out]  unchanged if the library is refused; errors of `out` are not reported here
// returns    unsupported  no 64-bit little-endian shared library for x86-64 or aarch64;
//                         ELF_NO_HEADER, see free_program_header.hpp; ELF_SIGNED: a signature in
//                         the library would become invalid; ELF_ADDRESS_USED: the library stores
//                         the address of the old container, or its constructors compute it
//            not_found    no such variable in the dynamic symbol table
//            malformed    the library is truncated or damaged
//            the failures of Pieces::write_to()
// costs      O(size of both); memory O(symbols and relocations) and 1 MiB
Status append_container(const std::shared_ptr<const MappedFile>& library, std::string_view symbol,
                        const Pieces& container, dmlc::Stream& out);

}  // namespace gantry
