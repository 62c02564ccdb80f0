// SPDX-License-Identifier: Apache-2.0
//
// A module whose type key nobody serves, kept in its place by `allow_missing`.
#pragma once

#include "core/module/module.hpp"

namespace gantry {

// A placeholder in the graph: look-up passes through it to its imports; asked itself it says `reason`. bind() it later.
//
// reason   full text: what is missing and what would serve it
// payload  what the maker needs to bind it later; only the maker looks at it
Result<Ref<ModuleNode>> new_unbound_node(std::string type_key, std::string location,
                                         std::string reason, Pin payload = {});

bool is_unbound(const ModuleNode& node);

// unavailable, reason MODULE_UNBOUND: "module 1 \"cuda\" is not bound: ..."
Failure unbound_error(const ModuleNode& node);

}  // namespace gantry
