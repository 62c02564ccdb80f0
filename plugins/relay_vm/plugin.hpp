// SPDX-License-Identifier: Apache-2.0
//
// gantry.relay-vm - the virtual machine of Relay executables.
#pragma once

#include "module.hpp"

#include <gantry/plugin.hpp>

namespace gantry::relay {

// The plugin in one runtime; it has no state.
struct Plugin {
  static constexpr PluginIdentity identity{.id = "gantry.relay-vm",
                                           .version = GANTRY_PLUGIN_VERSION,
                                           .vendor = "gantry",
                                           .display_name = "Relay virtual machine",
                                           .license = "Apache-2.0"};
  using Loaders = Types<ExecutableModule>;

  explicit Plugin(Host given) : host(given) {}

  Host host;
};

}  // namespace gantry::relay
