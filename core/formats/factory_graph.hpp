// SPDX-License-Identifier: Apache-2.0
//
// The payload of a graph factory: its graph, and the names of its parameters.
#pragma once

#include "core/formats/array_list.hpp"
#include "core/formats/entry.hpp"
#include "core/formats/graph_json.hpp"

#include <gantry/result.hpp>

#include <set>
#include <string_view>

namespace gantry {

struct FactoryGraph {
  // without the data of the parameters
  ArrayList list;
  Graph graph;

  // lifetime as long as the payload's bytes
  std::set<std::string_view> parameters() const;
};

// Precondition: content_of() the entry's type key is PayloadContent::graph.
//
// returns  malformed, unsupported  the list of arrays, or the graph
// costs    parses the graph
Result<FactoryGraph> read_factory_graph(const Entry& entry);

}  // namespace gantry
