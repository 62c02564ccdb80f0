// SPDX-License-Identifier: Apache-2.0
//
// Models whose library, graph and parameters are in three files, as TVM before 0.7 exports them. They
// are loaded as one artifact: core/formats/mlf/model_container.hpp.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/options.hpp"

#include <gantry/result.hpp>

#include <filesystem>

namespace gantry {

struct RuntimeState;

// Loads a graph whose library and parameters are in files of their own. Its module is that of an
// artifact in one file. The parameters are not copied.
//
// returns  as load_file(), for each of the files
Result<Ref<ModuleNode>> load_graph_files(RuntimeState& state, const ModelFiles& files,
                                         const LoadPermissions& options);

// Returns a graph or a parameter file, of any name, and the files that belong to it by their names:
// "deploy.so", "deploy.json" and "deploy.params". A library may also be an object or an archive.
//
// is_graph  [in]   `file` is a graph; else it is a parameter file
// returns   not_found, with the names that do not exist
Result<ModelFiles> graph_files_beside(const std::filesystem::path& file, bool is_graph);

}  // namespace gantry
