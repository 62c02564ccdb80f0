// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/config.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include <string>
#include <vector>

namespace gantry {

// Returns one sentence for each name in a configuration that this host does not have: plugins, type
// keys and devices that no manifest provides, directories and manifests that do not exist. Suggests
// near names. These are not errors, because a program may add the plugin later and a directory may
// be mounted later.
std::vector<std::string> unknown_names(const Config& config, const PluginSet& plugins);

}  // namespace gantry
