// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/unbound.hpp"

namespace gantry {

Result<Ref<ModuleNode>> new_unbound_node(std::shared_ptr<const Artifact> artifact,
                                         std::string_view type_key, std::size_t index,
                                         std::string reason) {
  GANTRY_TRY(Ref<ModuleNode> node, new_module_node(std::move(artifact), type_key, index));
  node->unbound = std::make_unique<Unbound>();
  node->unbound->reason = std::move(reason);
  return node;
}

bool is_unbound(const ModuleNode& node) {
  return node.table.load(std::memory_order_acquire) == nullptr;
}

Failure unbound_error(const ModuleNode& node) {
  const std::string reason = node.unbound == nullptr ? std::string() : node.unbound->reason;
  return unavailable(location_of(node), " is not bound", reason.empty() ? "" : ": ", reason)
      .with_reason("MODULE_UNBOUND");
}

}  // namespace gantry
