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

#include "core/engine/runtime/model_state.hpp"
#include "core/formats/payload_layout.hpp"

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
// layouts  [in]   valid as long as the artifact
Result<Ref<ModuleNode>> new_archive_module(std::shared_ptr<const Artifact> artifact,
                                           std::vector<ArchivedModel> models,
                                           const PayloadLayouts& layouts);

// Returns the names of the models, in the order of their modules among the imports. Empty: the module
// is of another kind.
std::vector<std::string> archived_models(const ModuleNode& module);

// Returns the root module of a model.
//
// archive  [in]   a module for which archived_models() is not empty
// name     [in]   empty: none was named
// returns  not_found, reason ARCHIVE_MODEL, listing the models
Result<Ref<ModuleNode>> archived_model(const ModuleNode& archive, std::string_view name);

// Returns a model whose functions are the models of an archive, by their names. Each is loaded on its
// devices when it is chosen.
//
// source   [in]   with a module for which archived_models() is not empty, and the devices that the
//                 caller names; see default_devices.hpp
std::shared_ptr<ModelState> archive_model(const ModelSource& source);

}  // namespace gantry
