// SPDX-License-Identifier: Apache-2.0
//
// The module of an artifact's library: `_lib` in the import graph.
//
//     open CpuLibrary ─▶ new_library_module ─▶ bind ─▶ link imports ─▶ set_module_context
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/native/context.hpp"
#include "core/engine/native/cpu_code.hpp"

#include <gantry/module.h>

#include <memory>
#include <string>
#include <vector>

namespace gantry {

// Creates the module and sets each context pointer that the library defines.
//
// library  [in]   retained until the module is destroyed: a CpuLibrary or LinkedCode
// services [in]   borrowed, outlives the module
// node     [in]   the node that the module will be bound to; borrowed
// prefix   [in]   of the names in a prefixed system library: names are looked up with it, then
//                 without
// returns  invalid if the library already belongs to another module
//
// get_function finds the functions that the library itself exports, and the entry under the name
// `__tvm_main__` (in the file a text with the entry's name, or the entry itself). visit_functions
// omits the names that are reserved for the compiler.
Result<gantry_module> new_library_module(std::shared_ptr<CpuCode> library,
                                         const HostServices* services, ModuleNode& node,
                                         std::string_view prefix = {});

// Sets the library's `__tvm_module_ctx`, if it defines one, to the context in which its code looks
// up functions: the imports of `own`, the other modules that `root` reaches, and the runtime's
// globals. Called once, after the imports are linked.
//
// own      [in]   a node bound to a module of new_library_module()
// root     [in]   generations 1 and 2: the artifact's root; later ones: NULL
// returns  invalid  `own` is not a library module; LINKED_TWICE: code that is linked into the program
//                   belongs to another one
Status set_module_context(ModuleNode& own, ModuleNode* root);

// The code of a node that is bound to a module of new_library_module().
CpuCode& code_of(const ModuleNode& node);

}  // namespace gantry
