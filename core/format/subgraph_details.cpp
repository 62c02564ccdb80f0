// SPDX-License-Identifier: Apache-2.0
#include "core/format/subgraph_details.hpp"

#include <gantry/json_subgraph.hpp>

#include <algorithm>
#include <string>

namespace gantry {
namespace {

std::string_view op_text(SubgraphNodeKind kind) {
  constexpr std::string_view texts[] = {"input", "const", "kernel"};
  return texts[static_cast<std::size_t>(kind)];
}

// "3", or "3.1" for the second output of node 3.
std::string entry_text(const Subgraph& graph, std::uint32_t entry) {
  // Nodes without outputs have the first entry of the node after them, so this is the node itself.
  const auto node =
      std::ranges::upper_bound(graph.nodes, entry, {}, &SubgraphNode::first_entry) - 1;
  const std::string text = concat(node - graph.nodes.begin());
  return entry == node->first_entry ? text : concat(text, ".", entry - node->first_entry);
}

void add_texts(DetailSink& sink, Detail& to, std::string_view name,
               const std::vector<std::string>& texts) {
  Detail* const list = sink.add_list(to, name);
  if (list == nullptr) return;
  for (const std::string& text : texts) set_text(sink.add(*list), text);
}

void add_node(DetailSink& sink, Detail& to, const Subgraph& graph, std::size_t index) {
  const SubgraphNode& node = graph.nodes[index];
  Detail* const item = sink.add(to);
  if (item == nullptr) return;
  item->name = concat(index);
  sink.add_text(*item, "name", node.name);
  sink.add_text(*item, "op", op_text(node.kind));
  if (node.kind == SubgraphNodeKind::kernel) {
    std::vector<std::string> inputs;
    for (const std::uint32_t input : node.inputs) inputs.push_back(entry_text(graph, input));
    add_texts(sink, *item, "inputs", inputs);
  }
  std::vector<std::string> outputs;
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const TensorType& type = graph.entries[node.first_entry + i];
    outputs.push_back(type_text(type.dtype, type.shape));
  }
  add_texts(sink, *item, "outputs", outputs);
}

}  // namespace

bool has_subgraph(const Detail& root) {
  return root.find("symbol") != nullptr && root.find("graph_json") != nullptr;
}

Status describe_subgraph(ByteReader payload, DetailSink& sink) {
  GANTRY_TRY(const SubgraphPayload read, read_subgraph_payload(payload));
  GANTRY_TRY(const Subgraph graph, read_json_subgraph(read));
  Detail* const nodes = sink.add(sink.root);
  if (nodes == nullptr) return {};
  nodes->kind = Detail::Kind::list;
  nodes->name = "nodes";
  for (std::size_t i = 0; i < graph.nodes.size() && !sink.cut; ++i)
    add_node(sink, *nodes, graph, i);
  return {};
}

}  // namespace gantry
