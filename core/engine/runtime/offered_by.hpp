// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plugins/choice/serving_plugins.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gantry {

struct RuntimeState;

// Returns what has a function that compiled code looks up by name: "gantry" for those of the runtime, the
// id of the plugin whose manifest offers it, or nothing. Opens no plugin.
std::optional<std::string> offered_by(const RuntimeState& state, const ServingPlugins& plugins,
                                      std::string_view name);

}  // namespace gantry
