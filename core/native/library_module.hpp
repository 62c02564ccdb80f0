// SPDX-License-Identifier: Apache-2.0
//
// An artifact's library as a module: `_lib` in the import graph.
//
//     open HostLibrary ─▶ new_library_module ─▶ bind ─▶ link imports ─▶ set_module_context
#pragma once

#include "core/module/module.hpp"
#include "core/native/library.hpp"

#include <gantry/module.h>

#include <memory>
#include <string>
#include <vector>

namespace gantry {

// Makes the pair and fills the library's context pointers, each that it has.
//
// library  [in]   kept until the pair is destroyed
// services [in]   borrowed, outlives the pair
// node     [in]   that the pair will be bound to; borrowed
// prefix   [in]   of a prefixed system library's names: looked up with it, then without
// returns  invalid where another module has the library already
//
// get_function finds what the library itself exports as a function, and through `__tvm_main__` (a
// text that names the entry, or the entry itself) the entry. list_functions leaves out names that
// the compiler keeps for itself.
Result<gantry_module> new_library_module(std::shared_ptr<HostLibrary> library,
                                         const HostServices* services, ModuleNode& node,
                                         std::string_view prefix = {});

// Points the library's `__tvm_module_ctx`, if it has one, at where its code may look functions up:
// the imports of `own`, what `root` reaches beside them, and the runtime's globals. Call it once,
// when imports are linked.
//
// own      [in]   a node bound to a pair of new_library_module()
// root     [in]   generations 1 and 2: the artifact's root; later ones: NULL
// returns  invalid where `own` is no library module
Status set_module_context(ModuleNode& own, ModuleNode* root);

// Function names that an artifact's library offers, in the order of its symbol table.
std::vector<std::string> exported_functions(const ElfFile& elf);

}  // namespace gantry
