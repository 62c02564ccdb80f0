// SPDX-License-Identifier: Apache-2.0
//
// Modules whose type key no usable plugin serves, kept in the graph by `allow_missing`.
#pragma once

#include "core/module/module.hpp"

namespace gantry {

// A node without a pair: a look-up passes through it to its imports. bind() may follow later.
//
// reason   what is missing and what would serve it, in full
// returns  exhausted
Result<Ref<ModuleNode>> new_unbound_node(std::shared_ptr<const Artifact> artifact,
                                         std::string_view type_key, std::size_t index,
                                         std::string reason);

bool is_unbound(const ModuleNode& node);

// unavailable, reason MODULE_UNBOUND: `entry 1 "cuda" of model.so is not bound: ...`
Failure unbound_error(const ModuleNode& node);

}  // namespace gantry
