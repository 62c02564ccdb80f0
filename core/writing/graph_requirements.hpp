// SPDX-License-Identifier: Apache-2.0
//
// Checks of the parts that are packed with a graph: its parameters and the functions that it calls.
#pragma once

#include "core/formats/graph_json.hpp"
#include "core/writing/graph_text.hpp"

namespace gantry {

// Returns the names of the functions that the graph calls, sorted and unique, without "__nop" and
// "__copy", which executors implement.
std::vector<std::string> called_functions(const Graph& graph);

// Checks that a parameter has the name and the type of an argument of the graph.
//
// returns  not_found with the names of the graph's arguments, or invalid with both types
Status check_parameter(const Graph& graph, const GraphTensor& parameter);

}  // namespace gantry
