// SPDX-License-Identifier: Apache-2.0
//
// Describes the graph of a payload whose code is a sub-graph in JSON. Part of details.cpp.
#pragma once

#include "core/format/detail_sink.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

namespace gantry {

// True if a payload with these details has a sub-graph: a symbol and a graph.
bool has_subgraph(const Detail& root);

// Adds the list `nodes` to the sink: by index, {name, op, inputs, outputs}. The name of a kernel is
// its operator. An input is the index of a node, and of its output if it is not the first: "3.1".
//
// payload  [in]   symbol, graph, names of constants
// returns  an error for the first field that cannot be decoded; then nothing is added
Status describe_subgraph(ByteReader payload, DetailSink& sink);

}  // namespace gantry
