// SPDX-License-Identifier: Apache-2.0
//
// What a graph requires of the parts that are packed with it: parameters of its arguments' types,
// functions by name.
#pragma once

#include "core/format/graph_json.hpp"
#include "core/pack/graph_text.hpp"

namespace gantry {

// Returns the functions that the graph calls, each once, sorted; without "__nop" and "__copy",
// which executors implement.
std::vector<std::string> called_functions(const Graph& graph);

// Checks that every parameter is an argument of the graph with the same name and type.
//
// returns  not_found with the graph's arguments, or invalid with both types
Status check_parameters(const Graph& graph, std::span<const GraphTensor> parameters);

}  // namespace gantry
