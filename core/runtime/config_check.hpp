// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plugin/plugin_set.hpp"
#include "core/runtime/config.hpp"

#include <string>
#include <vector>

namespace gantry {

// What a configuration names and this host does not have: plugins, type keys and devices that no
// manifest offers, directories and manifests that do not exist. One sentence each, with near names.
// These are not errors: a program may add the plugin later, a directory may be mounted later.
std::vector<std::string> unknown_names(const Config& config, const PluginSet& plugins);

}  // namespace gantry
