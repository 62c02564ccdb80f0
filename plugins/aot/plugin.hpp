// SPDX-License-Identifier: Apache-2.0
//
// gantry.aot - the ahead-of-time executor: runs models whose compiled code calls its operators
// itself.
#pragma once

#include "factory.hpp"
#include "metadata_module.hpp"

#include <gantry/plugin.hpp>

namespace gantry::aot {

// The plugin in one runtime; it has no state.
struct Plugin {
  using Loaders = Types<Factory, MetadataModule>;

  explicit Plugin(Host given) : host(given) {}

  Host host;
};

}  // namespace gantry::aot
