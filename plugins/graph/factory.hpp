// SPDX-License-Identifier: Apache-2.0
//
// The module that the payload becomes: it makes executors and tells what they are made from.
#pragma once

#include "memory.hpp"

namespace gantry::graph {

// Loads GraphExecutorFactory and its older name, GraphRuntimeFactory; the plugin's self is a gantry_host*.
extern const gantry_loader_table factory_loader;

}  // namespace gantry::graph
