// SPDX-License-Identifier: Apache-2.0
//
// The root module of an archive of several models. Each model is a library of its own: its code looks
// functions up in its own modules only.
//
//     list_module_names()   the names of the models, in the archive's order
//     <name of a model>     the factory function of its graph: devices -> executor
//
// source   apache/tvm src/runtime/graph_executor/graph_executor_factory.cc (list_module_names)
#pragma once

#include "core/engine/module/module.hpp"

#include <gantry/result.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

inline constexpr std::string_view archive_module_key = "ModelLibrary";

struct ArchivedModel {
  std::string name;
  Ref<ModuleNode> root;
};

// artifact [in]   of the archive, without a container
Result<Ref<ModuleNode>> new_archive_module(std::shared_ptr<const Artifact> artifact,
                                           std::vector<ArchivedModel> models);

// Returns the names of the models, in the order of their modules among the imports. Empty: the module
// is of another kind.
std::vector<std::string> archived_models(const ModuleNode& module);

// Returns the root module of a model.
//
// archive  [in]   a module for which archived_models() is not empty
// name     [in]   empty: none was named
// returns  not_found, reason ARCHIVE_MODEL, listing the models
Result<Ref<ModuleNode>> archived_model(const ModuleNode& archive, std::string_view name);

}  // namespace gantry
