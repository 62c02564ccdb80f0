// SPDX-License-Identifier: Apache-2.0
#include "core/formats/details.hpp"

#include "core/formats/detail_sink.hpp"
#include "core/formats/limits.hpp"
#include "core/formats/payload_walk.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_details.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/json_subgraph.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

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

// True if a payload with these details has a sub-graph: a symbol and a graph.
bool has_subgraph(const Detail& root) {
  return root.find("symbol") != nullptr && root.find("graph_json") != nullptr;
}

// Adds the list `nodes` to the sink: by index, {name, op, inputs, outputs}. The name of a kernel is
// its operator. An input is the index of a node, and of its output if it is not the first: "3.1".
//
// payload  [in]   symbol, graph, names of constants
// returns  an error for the first field that cannot be decoded; then nothing is added
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

Detail* child_of(Detail& root, std::string_view name) {
  for (Detail& each : root.children) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

void drop(Detail& root, std::string_view name) {
  std::erase_if(root.children, [&](const Detail& each) { return each.name == name; });
}

// Names and arrays are separate lists in the same order. Moves the names to the arrays.
void name_params(PayloadDetails& details) {
  Detail* const names = child_of(details.root, "names");
  Detail* params = child_of(details.root, "params");
  if (params == nullptr) params = child_of(details.root, "constants");
  if (names == nullptr || params == nullptr) return;
  if (names->children.size() != params->children.size()) {
    details.warnings.push_back(
        Message(names->children.size(), " names for ", params->children.size(), " arrays"));
    return;
  }
  for (std::size_t i = 0; i < names->children.size(); ++i) {
    params->children[i].name = std::move(names->children[i].value);
  }
  drop(details.root, "names");
  drop(details.root, "count");
}

// Returns a reader of the code of a virtual machine, which follows a length in layout one and has
// none in layout two.
ByteReader code_of(const Entry& entry, const Measured& measured) {
  ByteReader in(entry.payload, entry.at);
  const bool bare = measured.layout->fields().front().kind == PayloadField::Kind::rest;
  if (bare) return in;
  // The payload matches its layout, so it contains the length.
  return ByteReader(entry.payload.subspan(8), entry.at + 8);
}

}  // namespace

PayloadDetails describe_payload(const Entry& entry, const ExporterFacts& facts,
                                const PayloadLayouts& layouts) {
  PayloadDetails details;
  if (entry.is_library() || entry.boundary == Boundary::unknown ||
      !layouts.contains(entry.type_key)) {
    return details;
  }
  const auto warn = [&](const Error& error) {
    Message text = error.message;
    if (error.offset != no_offset) text.append({" at ", Hex{error.offset}});
    details.warnings.push_back(Message(quoted(entry.type_key), " payload: ", text));
  };
  // The container's reader has delimited the payload.
  const auto measured = layouts.measure(entry.type_key, ByteReader(entry.payload, entry.at),
                                        PayloadEnd::known, facts.argument_tags);
  if (!measured.ok()) {
    warn(measured.error());
    return details;
  }
  DetailSink sink;
  sink.max = std::clamp(entry.payload.size() / limits::bytes_per_detail, limits::min_details,
                        limits::max_details);
  sink.has_private_float_codes = facts.has_private_float_codes;
  const auto keep = [&](const Status& walked) {
    if (!walked.ok()) warn(walked.error());
  };
  if (is_virtual_machine(entry.type_key)) {
    keep(
        describe_virtual_machine(entry.type_key, code_of(entry, *measured), facts.numbering, sink));
  } else {
    ByteReader in(entry.payload, entry.at);
    keep(walk_payload(in, *measured->layout, measured->argument_tags, &sink));
    if (has_subgraph(sink.root)) {
      keep(describe_subgraph(ByteReader(entry.payload, entry.at), sink));
    }
  }
  details.root = std::move(sink.root);
  if (sink.cut) {
    details.warnings.push_back(Message(quoted(entry.type_key), " payload: only the first ",
                                       sink.max, " details are shown"));
  }
  name_params(details);
  return details;
}

}  // namespace gantry
