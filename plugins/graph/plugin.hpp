// SPDX-License-Identifier: Apache-2.0
//
// gantry.graph - the graph executor: runs models that were exported as an ordered list of
// operators.
#pragma once

#include "factory.hpp"

#include <gantry/plugin.hpp>

namespace gantry::graph {

// The plugin in one runtime; it has no state.
struct Plugin {
  using Loaders = Types<Factory>;

  explicit Plugin(Host given) : host(given) {}

  Host host;
};

}  // namespace gantry::graph
