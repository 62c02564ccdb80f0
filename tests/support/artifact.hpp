// SPDX-License-Identifier: Apache-2.0
//
// Artifacts and module nodes without a file or a runtime.
#pragma once

#include "core/engine/module/unbound.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace gantry::test {

// Creates the artifact "model.so" with these type keys, module 0 first.
inline std::shared_ptr<Artifact> artifact_of(std::initializer_list<const char*> type_keys) {
  auto artifact = std::make_shared<Artifact>();
  artifact->name = "model.so";
  for (const char* key : type_keys)
    artifact->container.entries.push_back({key, 0, {}, Boundary::exact});
  return artifact;
}

// Creates an unbound node for an entry: `entry 1 "cuda" of model.so`.
inline Ref<ModuleNode> node_of(const std::shared_ptr<Artifact>& artifact, std::size_t index) {
  return std::move(new_module_node(artifact, artifact->container.entries.at(index).type_key, index))
      .value();
}

// Creates an unbound node as for a module that is created at run time: `module "name"`.
inline Ref<ModuleNode> named_node(std::string name) {
  auto artifact = std::make_shared<Artifact>();
  artifact->name = std::move(name);
  const std::string& key = artifact->name;
  return std::move(new_module_node(artifact, key, ModuleNode::kNoIndex)).value();
}

// The same, as a placeholder with a reason.
inline Ref<ModuleNode> unbound_node(std::string name, std::string reason) {
  Ref<ModuleNode> node = named_node(std::move(name));
  node->unbound = std::make_unique<Unbound>();
  node->unbound->reason = std::move(reason);
  return node;
}

// The mutable artifact of a node that these functions created.
inline Artifact& artifact_of(const ModuleNode& node) {
  return const_cast<Artifact&>(*node.artifact);
}

}  // namespace gantry::test
