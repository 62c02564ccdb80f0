// SPDX-License-Identifier: Apache-2.0
//
// gantry.const-loader - the constants of partitioned graphs: passes them to the modules that use
// them, before the first call.
#pragma once

#include "module.hpp"

#include <gantry/plugin.hpp>

namespace gantry::const_loader {

// The plugin in one runtime; it has no state.
struct Plugin {
  using Loaders = Types<Module>;

  explicit Plugin(Host given) : host(given) {}

  Host host;
};

}  // namespace gantry::const_loader
