// SPDX-License-Identifier: Apache-2.0
//
// What data are by their first bytes. What a payload says of its data has been seen to lie.
#pragma once

#include <string_view>

namespace gantry {

// "ELF", "fatbin", "PTX", "SPIR-V", "LLVM bitcode", "metallib", "ZIP", "archive" or "xclbin"; empty:
// nothing that is known, which source code is as well.
std::string_view data_format_of(std::string_view data);

}  // namespace gantry
