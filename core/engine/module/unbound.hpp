// SPDX-License-Identifier: Apache-2.0
//
// Modules whose type key no usable plugin serves, kept in the graph by `allow_missing`.
#pragma once

#include "core/engine/module/module.hpp"

namespace gantry {

// Creates a node without a pair. A look-up continues with its imports. bind() may be called later.
//
// reason   [in]   what is missing and which plugin would serve it, full text
// returns  exhausted
Result<Ref<ModuleNode>> new_unbound_node(std::shared_ptr<const Artifact> artifact,
                                         std::string_view type_key, std::size_t index,
                                         std::string reason);

bool is_unbound(const ModuleNode& node);

// Returns unavailable, reason MODULE_UNBOUND: `entry 1 "cuda" of model.so is not bound: ...`
Failure unbound_error(const ModuleNode& node);

}  // namespace gantry
