// SPDX-License-Identifier: Apache-2.0
//
// What a finished graph wants from the parts that are packed with it: arguments of a type, functions by name.
#pragma once

#include "core/pack/graph_text.hpp"

namespace gantry {

struct GraphWants {
  // inputs and parameters, in input-index order
  std::vector<GraphTensor> arguments;
  // each once, sorted; without "__nop" and "__copy", which executors do
  std::vector<std::string> functions;
};

// json     [in]   a graph as executors read it
// returns  malformed where the text is no such graph
// note     a check of what we pack, not all that an executor checks when it loads it
Result<GraphWants> read_graph_wants(std::string_view json);

// Every parameter is an argument of that name and type.
//
// returns  not_found with the arguments that there are, or invalid with both types
Status check_parameters(const GraphWants& wants, std::span<const GraphTensor> parameters);

}  // namespace gantry
