// SPDX-License-Identifier: Apache-2.0
//
// The format of data by their first bytes. The format that a payload names can be wrong.
#pragma once

#include <string_view>

namespace gantry {

// "ELF", "fatbin", "PTX", "SPIR-V", "LLVM bitcode", "metallib", "ZIP", "archive" or "xclbin";
// empty: any other format, source code among them.
std::string_view data_format_of(std::string_view data);

}  // namespace gantry
