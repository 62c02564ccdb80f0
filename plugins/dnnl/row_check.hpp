// SPDX-License-Identifier: Apache-2.0
//
// Compares an operator of a sub-graph with its row in the table of operators, before it is lowered.
#pragma once

#include "operators.hpp"

#include <gantry/result.hpp>
#include <gantry/subgraph.hpp>

namespace gantry::dnnl_plugin {

// returns  UNSUPPORTED  an attribute that the row does not have, a value or a layout of an attribute
//                       that it does not list, or an element type (SUBGRAPH_OPERATOR)
//          MALFORMED    the number of inputs (SUBGRAPH)
// costs    O(attributes of the operator x words of the row)
Status check_row(const OperatorMatch& match, const Subgraph& graph, const SubgraphNode& node);

// Returns whether a layout has the form of a pattern: "NCHW" is that layout, "NCHW*" has its
// dimensions in any order, "NCHW**" also blocks of them at the end.
bool matches_layout(std::string_view layout, std::string_view pattern);

}  // namespace gantry::dnnl_plugin
