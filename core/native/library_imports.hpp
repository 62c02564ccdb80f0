// SPDX-License-Identifier: Apache-2.0
//
// Checks of the symbols and libraries that an artifact's library requires from the process.
#pragma once

#include "core/elf/elf_file.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// The names that libgantry_tvm.so provides.
std::span<const std::string_view> names_of_tvm_symbols();

// Checks the undefined symbols of `elf` before it is opened. Returns those that libgantry_tvm.so
// provides.
//
// location [in]   for messages: the file
// returns  unsupported  TVM_CPP      it requires TVM's C++ runtime
//                       TVM_SYMBOLS  it requires TVM... names that gantry does not provide
Result<std::vector<std::string_view>> check_tvm_imports(const ElfFile& elf,
                                                        std::string_view location);

// Returns why the system could not open a library that passed every check: the needed libraries or
// symbols that this host does not have. Opens the needed libraries to determine that.
//
// system_text  [in]   the text of dlerror(), used if no other cause is found
// returns  unavailable
Failure explain_open_failure(const ElfFile& elf, std::string_view location,
                             std::string_view system_text);

}  // namespace gantry
