// SPDX-License-Identifier: Apache-2.0
//
// The symbols that a plugin's library imports.
#pragma once

#include "core/plugins/library/linker.hpp"

#include <string>
#include <string_view>

namespace gantry {

// "_ZN4acme4initEv (acme::init())"; C symbols are unchanged.
std::string symbol_text(std::string_view symbol);

// Checks that the needed libraries, or the process, define every symbol that each of them imports.
// Weak imports may be undefined.
//
// needed   [in]   of find_needed(), without problems and unreadable libraries; not empty
// returns  unavailable, reason SYMBOL_MISSING. The text names the symbols, the library that imports
//          them, and the libraries that may have defined them when it was linked, each with its
//          build id: those without versions, because the others would have added a version to the
//          import.
// costs    O(symbols of all libraries)
Status check_imports(const NeededLibraries& needed);

}  // namespace gantry
