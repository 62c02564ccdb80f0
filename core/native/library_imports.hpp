// SPDX-License-Identifier: Apache-2.0
//
// What an artifact's library wants from the process, judged from its symbols before anything is
// opened.
#pragma once

#include "core/elf/elf_file.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// The names that libgantry_tvm.so gives.
std::span<const std::string_view> names_of_tvm_symbols();

// Undefined names of `elf` that libgantry_tvm.so gives.
//
// place    [in]   for messages: the file
// returns  unsupported  TVM_CPP      it needs TVM's C++ runtime
//                       TVM_SYMBOLS  it needs TVM... names that we do not give: all of them, named
Result<std::vector<std::string_view>> check_tvm_imports(const ElfFile& elf,
                                                        std::string_view location);

// Why the system could not open a library that passed every check: needed libraries and symbols
// that this host does not have. Opens needed libraries to find out.
//
// system_text  [in]   dlerror's, the last resort
// returns  unavailable
Failure explain_open_failure(const ElfFile& elf, std::string_view location,
                             std::string_view system_text);

}  // namespace gantry
