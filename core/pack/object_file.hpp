// SPDX-License-Identifier: Apache-2.0
//
// Writes a container as a symbol of an object file: an assembler text that includes the file of its
// bytes, which is faster to compile than an array in C.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

constexpr std::string_view container_symbol = "__tvm_dev_mblob";

// Returns assembler text for the C compiler's preprocessor (".S") that defines `container_symbol`
// as the bytes of a file: an object of that size in read-only data, aligned to 128 bytes.
//
// file     [in]   path of the container's file, absolute or relative to the compiler's working
//                 directory; any bytes
// size     [in]   of the container. Above 1 GiB it is placed in the large data section, so that
//                 x86-64 code still reaches everything else with 32-bit offsets
std::string container_assembly(std::string_view file, std::uint64_t size);

}  // namespace gantry
