// SPDX-License-Identifier: Apache-2.0
//
// gantry/system_library.hpp - models whose code is linked into the program.
//
//     auto model = gantry::system_library(*runtime);
//
// A program that includes this header links libgantry_system_library.a (CMake: gantry::system_library,
// pkg-config: gantry-system-library) and the model's objects, which must be given to the linker as
// objects: it takes from an archive only what something refers to. Their constructors register their
// symbols in a table of the program, or of the shared library that contains both; other programs and
// libraries of the process have tables of their own.
#pragma once

#include <gantry/linked_symbols.h>
#include <gantry/embed.hpp>

#include <string_view>

// Of the archive; hidden.
extern "C" gantry_linked_symbols gantry_system_symbols(void);

namespace gantry {

// Returns the module of the code that is linked into this program.
//
// prefix   [in]   of the system library: the container has it in its symbol, and functions are found
//                 with it and without
// returns  as Runtime::load_linked()
inline Result<Module> system_library(const Runtime& runtime, std::string_view prefix = {},
                                     const LoadOptions& options = {}) {
  return runtime.load_linked(gantry_system_symbols(), prefix, options);
}

}  // namespace gantry
