// SPDX-License-Identifier: Apache-2.0
#include "core/module/unbound.hpp"

namespace gantry {

Result<Ref<ModuleNode>> new_unbound_node(std::string type_key, std::string location,
                                         std::string reason, Pin payload) {
  GANTRY_TRY(Ref<ModuleNode> node, new_module_node(std::move(type_key), std::move(location)));
  node->unbound_reason = std::move(reason);
  node->unbound_payload = std::move(payload);
  return node;
}

bool is_unbound(const ModuleNode& node) {
  return node.table.load(std::memory_order_acquire) == nullptr;
}

// unbound_reason is never written again once the node is shared, also not by bind(): readers need
// no lock.
Failure unbound_error(const ModuleNode& node) {
  return unavailable(node.location, " is not bound", node.unbound_reason.empty() ? "" : ": ",
                     node.unbound_reason)
      .with_reason("MODULE_UNBOUND");
}

}  // namespace gantry
