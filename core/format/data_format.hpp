// SPDX-License-Identifier: Apache-2.0
//
// Detects the format of data by the first bytes. The format that a payload states may be wrong.
#pragma once

#include <string_view>

namespace gantry {

// Returns "ELF", "fatbin", "PTX", "SPIR-V", "LLVM bitcode", "metallib", "ZIP", "archive" or
// "xclbin"; an empty text for other formats, including source code.
std::string_view data_format_of(std::string_view data);

}  // namespace gantry
