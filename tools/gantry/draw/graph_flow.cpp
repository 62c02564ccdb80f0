// SPDX-License-Identifier: Apache-2.0
//
// The flows of graphs of operators: of an executor's, and of the sub-graphs that compilers left to a library.
#include "core/formats/factory_graph.hpp"
#include "core/formats/model_signature.hpp"
#include "tools/gantry/draw/flow.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/device_name.hpp>
#include <gantry/json_subgraph.hpp>
#include <gantry/parameter_info.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {
namespace {

std::string device_line(std::int64_t number) {
  const std::string_view name = dlpack_name(static_cast<std::int32_t>(number));
  return name.empty() ? concat("device ", number) : std::string(name);
}

// Types of the outputs of a node, each once where they are equal, at most four.
template <class TypeAt>
void add_types(FlowNode& node, std::uint32_t first, std::uint32_t count, TypeAt type_at) {
  constexpr std::size_t max = 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i == max) {
      node.lines.push_back(concat("and ", count - max, " more"));
      return;
    }
    node.lines.push_back(type_at(first + i));
  }
}

// "", or the number of an output of a node that has several.
std::string output_label(std::uint32_t entry, std::uint32_t first, std::uint32_t count) {
  return count == 1 ? std::string() : concat(entry - first);
}

class GraphFlow {
 public:
  GraphFlow(const Graph& graph, const std::set<std::string_view>& parameters, FlowBuilder& builder)
      : graph_(graph), parameters_(parameters), builder_(builder) {
    std::set<std::int64_t> devices;
    for (const GraphEntry& each : graph.entries) devices.insert(each.device_number);
    has_devices_ = devices.size() > 1;
  }

  void run() {
    of_node_.resize(graph_.nodes.size(), FlowBuilder::none);
    owner_.resize(graph_.entries.size());
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      const GraphNode& node = graph_.nodes[n];
      for (std::uint32_t i = 0; i < node.output_count; ++i) owner_[node.first_entry + i] = n;
      if (node.kind == GraphNodeKind::input && parameters_.contains(node.name)) {
        ++hidden_;
        continue;
      }
      of_node_[n] = builder_.add(made(node));
      for (const std::uint32_t entry : node.inputs) connect(entry, of_node_[n]);
    }
    for (std::size_t i = 0; i < graph_.heads.size(); ++i) {
      const GraphOutput& head = graph_.heads[i];
      const std::string name = graph_.output_names.empty() ? output_name(i, graph_.heads.size())
                                                           : graph_.output_names[i];
      FlowNode output{.kind = FlowNode::Kind::output, .title = short_name(name)};
      output.name = shown_text(name);
      output.lines.push_back(type_text(graph_.entries[head.entry]));
      connect(head.entry, builder_.add(std::move(output)));
    }
    if (hidden_ != 0)
      builder_.note(
          concat(hidden_, hidden_ == 1 ? " parameter is" : " parameters are", " not drawn"));
  }

 private:
  FlowNode made(const GraphNode& node) const {
    FlowNode out;
    switch (node.kind) {
      case GraphNodeKind::input:
        out.kind = FlowNode::Kind::input;
        out.title = short_name(node.name);
        break;
      case GraphNodeKind::call:
        out.title = short_name(node.function);
        break;
      case GraphNodeKind::nop:
        out.kind = FlowNode::Kind::light;
        out.title = "reshape";
        break;
      case GraphNodeKind::copy:
        out.kind = FlowNode::Kind::light;
        out.title = "copy";
        break;
    }
    out.name = shown_text(node.name);
    if (node.kind != GraphNodeKind::input) out.timed = out.name;
    add_types(out, node.first_entry, node.output_count,
              [&](std::uint32_t e) { return type_text(graph_.entries[e]); });
    if (has_devices_ && node.output_count != 0)
      out.lines.push_back(device_line(graph_.entries[node.first_entry].device_number));
    return out;
  }

  void connect(std::uint32_t entry, std::uint32_t to) {
    const GraphNode& from = graph_.nodes[owner_[entry]];
    builder_.connect(of_node_[owner_[entry]], to, false,
                     output_label(entry, from.first_entry, from.output_count));
  }

  const Graph& graph_;
  const std::set<std::string_view>& parameters_;
  FlowBuilder& builder_;
  bool has_devices_ = false;
  std::size_t hidden_ = 0;
  // by node of the graph
  std::vector<std::uint32_t> of_node_;
  // by entry
  std::vector<std::uint32_t> owner_;
};

}  // namespace

Result<Flow> graph_flow(const Entry& entry, const FlowLimits& limits) {
  GANTRY_TRY(const FactoryGraph payload, read_factory_graph(entry));
  const std::set<std::string_view> parameters = payload.parameters();
  const std::string_view name = payload.list.module_name;
  FlowBuilder builder(name.empty() ? "graph" : name, limits);
  GraphFlow(payload.graph, parameters, builder).run();
  return std::move(builder).finish();
}

Result<Flow> subgraph_flow(const Entry& entry, const FlowLimits& limits) {
  ByteReader in(entry.payload, entry.at);
  GANTRY_TRY(const SubgraphPayload payload, read_subgraph_payload(in));
  GANTRY_TRY(const Subgraph graph, read_json_subgraph(payload));
  FlowBuilder builder(concat(entry.type_key, " ", payload.symbol), limits);
  std::vector<std::uint32_t> of_node(graph.nodes.size(), FlowBuilder::none);
  std::vector<std::uint32_t> owner(graph.entries.size());
  const auto type_at = [&](std::uint32_t e) {
    return type_text(graph.entries[e].dtype, graph.entries[e].shape);
  };
  const auto connect = [&](std::uint32_t e, std::uint32_t to) {
    const SubgraphNode& from = graph.nodes[owner[e]];
    builder.connect(of_node[owner[e]], to, false,
                    output_label(e, from.first_entry, from.output_count));
  };
  std::size_t constants = 0;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const SubgraphNode& node = graph.nodes[n];
    for (std::uint32_t i = 0; i < node.output_count; ++i) owner[node.first_entry + i] = n;
    if (node.kind == SubgraphNodeKind::constant) {
      ++constants;
      continue;
    }
    FlowNode made{
        .kind = node.kind == SubgraphNodeKind::input ? FlowNode::Kind::input : FlowNode::Kind::call,
        .title = short_name(node.name)};
    made.name = shown_text(node.name);
    add_types(made, node.first_entry, node.output_count, type_at);
    of_node[n] = builder.add(std::move(made));
    for (const std::uint32_t e : node.inputs) connect(e, of_node[n]);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    FlowNode output{.kind = FlowNode::Kind::output, .title = output_name(i, graph.outputs.size())};
    output.lines.push_back(type_at(graph.outputs[i]));
    connect(graph.outputs[i], builder.add(std::move(output)));
  }
  if (constants != 0)
    builder.note(
        concat(constants, constants == 1 ? " constant is" : " constants are", " not drawn"));
  return std::move(builder).finish();
}

}  // namespace gantry::cli
