// SPDX-License-Identifier: Apache-2.0
//
// Removes, replaces and adds modules of a container that was read.
//
//     0 graph -> 1        drop opencl, add cuda       0 graph -> 1
//     1 _lib -> 2         -------------------->       1 _lib -> 2
//     2 opencl                                        2 cuda
//
// The other modules keep their order, so that an import still comes after its importer.
#pragma once

#include "core/writing/container.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A module is selected by its index or its type key, "_lib" for CPU code, in the container that was
// read.
struct ModuleEdits {
  struct Replacement {
    // a type key must select one module
    std::string module;
    // file of the new payload
    std::filesystem::path payload;
  };
  struct Addition {
    std::string type_key;
    std::filesystem::path payload;
    // the module that imports it; empty: the CPU code, or the root if there is none
    std::string parent;
  };

  // a type key selects all modules that have it
  std::vector<std::string> drop;
  std::vector<Replacement> replace;
  std::vector<Addition> add;
};

// "2=opencl.bin", "opencl=opencl.bin". The first '=' separates.
Result<ModuleEdits::Replacement> parse_replacement(std::string_view text);
// "cuda=cuda.bin", "cuda=cuda.bin@1", "cuda=cuda.bin@_lib". The last '@' separates the parent,
// unless a '/' follows it.
Result<ModuleEdits::Addition> parse_addition(std::string_view text);

// A module and the entry of the container from which it was read.
struct EditedModule {
  ContainerModule module;
  // absent: it was added, or its payload was replaced
  std::optional<std::size_t> entry;
  // the file of its payload then; else NULL
  std::shared_ptr<const MappedFile> given = nullptr;
};

// Applies edits to listed modules. Added modules are the last ones, and the last imports of their
// parents.
//
// modules  [in]   of listed_modules()
// returns  not_found  no module is selected; an edit's file does not exist
//          invalid    the root, or a module that only a dropped one imports, would be lost; a module
//                     is edited twice, or CPU code is replaced
//          the other errors of opening the files
Result<std::vector<EditedModule>> edit_modules(std::vector<ContainerModule> modules,
                                               const ModuleEdits& edits);

}  // namespace gantry
