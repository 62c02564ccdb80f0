// SPDX-License-Identifier: Apache-2.0
//
// The symbols and libraries that an artifact's library requires from the process.
#pragma once

#include "core/engine/native/import_binding.hpp"

#include <string_view>

namespace gantry {

// Returns why the system could not open a library that passed every check: the needed libraries or
// symbols that this host does not have. Opens the needed libraries to determine that.
//
// system_text  [in]   the text of dlerror(), used if no other cause is found
// returns  unavailable
Failure explain_open_failure(const ElfFile& elf, const ImportBinding& binding,
                             std::string_view location, std::string_view system_text);

}  // namespace gantry
