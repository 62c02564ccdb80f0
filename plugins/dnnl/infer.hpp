// SPDX-License-Identifier: Apache-2.0
//
// Extents that are known only when a sub-graph is called.
#pragma once

#include "operators.hpp"

#include <gantry/result.hpp>
#include <gantry/subgraph.hpp>

#include <span>

namespace gantry::dnnl_plugin {

// True if an extent of a tensor is known only at the call.
bool has_unknown_extents(const Subgraph& graph);

// Computes the extents of the tensors between operators, in the order of the operators.
//
// graph    [in, out] the arguments have the extents of the call
// operators [in]  those of the graph
// returns  UNSUPPORTED  an extent that neither the graph nor the inputs of its operator have
//                       (SUBGRAPH_OPERATOR)
//          INVALID      the inputs of an operator do not fit together, or are too large (ARGUMENT)
Status infer_extents(Subgraph& graph, std::span<const OperatorMatch> operators);

}  // namespace gantry::dnnl_plugin
