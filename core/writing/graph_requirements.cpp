// SPDX-License-Identifier: Apache-2.0
#include "core/writing/graph_requirements.hpp"

#include "core/base/near_name.hpp"

#include <gantry/join.hpp>

#include <set>

namespace gantry {

std::vector<std::string> called_functions(const Graph& graph) {
  std::set<std::string> functions;
  for (const GraphNode& node : graph.nodes) {
    if (node.kind == GraphNodeKind::call) functions.insert(node.function);
  }
  return {functions.begin(), functions.end()};
}

Status check_parameter(const Graph& graph, const GraphTensor& parameter) {
  const auto input = graph.input_by_name.find(parameter.name);
  if (input == graph.input_by_name.end()) {
    std::vector<std::string_view> names;
    for (const std::uint32_t node : graph.inputs) names.push_back(graph.nodes[node].name);
    return not_found("parameter ", quoted(parameter.name), " of the graph not found",
                     did_you_mean(parameter.name, names),
                     "; arguments: ", join(names, ", ", std::identity(), max_listed_names));
  }
  const GraphEntry& entry = graph.entries[graph.input_entry(input->second)];
  if (same_type(parameter.type, {entry.dtype, entry.shape})) return {};
  return invalid("parameter ", quoted(parameter.name), " is ", type_text(parameter.type),
                 ", the graph requires ", type_text(entry));
}

}  // namespace gantry
