// SPDX-License-Identifier: Apache-2.0
//
// Models whose library, graph and parameters are in three files, as TVM before 0.7 exports them.
//
//     deploy.json, deploy.params --> a container with one GraphExecutorFactory --imports--> deploy.so
//
// The container is in memory; the data of the parameters stay in the mapped file.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/module/module.hpp"

#include <gantry/result.hpp>
#include <gantry/runtime/options.hpp>

namespace gantry {

struct RuntimeState;

// See Runtime::load_graph.
Result<Ref<ModuleNode>> load_graph_files(RuntimeState& state, const GraphFiles& files,
                                         const LoadOptions& options);

// Returns a container, layout two, with a graph's JSON text and its parameters.
//
// graph    [in]   the JSON text; not checked
// params   [in]   a .params file; NULL: no parameters
// returns  malformed: the parameters
// costs    a copy of the graph and of the parameters' names
Result<std::shared_ptr<const MappedFile>> graph_container(const MappedFile& graph,
                                                          const MappedFile* params);

// Returns the files that belong to a graph or a parameter file by their names: "deploy.so",
// "deploy.json" and "deploy.params". A library may also be an object or an archive.
//
// returns  not_found, with the names that do not exist
Result<GraphFiles> graph_files_beside(const std::filesystem::path& file);

}  // namespace gantry
