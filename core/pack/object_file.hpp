// SPDX-License-Identifier: Apache-2.0
//
// A container as a symbol of an object file: an assembler text that includes the bytes, never an array in C.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

constexpr std::string_view container_symbol = "__tvm_dev_mblob";

// Assembler text, for the C compiler's preprocessor (".S"), that defines `container_symbol` as the bytes of a file:
// an object of that size in read-only data, at a multiple of 128.
//
// file     [in]   path of the container's file, absolute or as seen from the compiler's working directory; any bytes
// size     [in]   of the container.  Above 1 GiB it lies among the large data, where x86-64 code reaches everything
//                 else with 32 bits still
std::string container_assembly(std::string_view file, std::uint64_t size);

}  // namespace gantry
