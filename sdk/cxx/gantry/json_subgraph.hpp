// SPDX-License-Identifier: Apache-2.0
//
// gantry/json_subgraph.hpp - reads the payload of dnnl_json, tensorrt, arm_compute_lib, bnns_json,
// clml and the other type keys whose code is a sub-graph in JSON.
//
//     GANTRY_TRY(const SubgraphPayload payload, read_subgraph_payload(blob.reader()));
//     GANTRY_TRY(const Subgraph graph, read_json_subgraph(payload));
//
//   {"symbol": "main_0",
//    "nodes": [{"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[1, 64]]]}},
//              {"op": "const", "name": "main_0_const_0", "attrs": {...}},
//              {"op": "kernel", "name": "nn.dense", "inputs": [[0, 0, 0], [1, 0, 0]],
//               "attrs": {"num_inputs": "2", "num_outputs": "1", "dtype": ..., "shape": ...,
//                         "units": [["64"]]}}],
//    "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "node_row_ptr": [0, 1, 2, 3]}
//
// arg_nodes lists inputs and constants; the entries of node n begin at node_row_ptr[n].
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/json_subgraph_node.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>
#include <gantry/subgraph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

namespace detail {

class SubgraphReader {
 public:
  explicit SubgraphReader(std::span<const std::string_view> constants) : constants_(constants) {}

  Result<Subgraph> read(JsonValue root) {
    if (!root.is(JsonKind::object)) return wrong_subgraph_kind("sub-graph", root, "an object");
    constexpr std::array names{"nodes", "arg_nodes", "heads", "node_row_ptr", "symbol"};
    std::array<std::optional<JsonValue>, 5> members;
    for (const JsonValue member : root) {
      const auto name = std::ranges::find(names, member.key());
      if (name == names.end()) {
        return refuse_subgraph(member, "sub-graph has the member ", quoted(member.key()),
                               ", which the format does not have");
      }
      members[static_cast<std::size_t>(name - names.begin())] = member;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      if (!members[i]) return refuse_subgraph(root, "sub-graph has no ", quoted(names[i]));
      if (!members[i]->is(JsonKind::array))
        return wrong_subgraph_kind(names[i], *members[i], "a list");
    }
    GANTRY_CHECK(read_row_ptr(*members[3], members[0]->size()));
    for (const JsonValue node : *members[0]) GANTRY_CHECK(nodes_.read(node));
    GANTRY_CHECK(read_arguments(*members[1]));
    for (const JsonValue head : *members[2]) {
      GANTRY_TRY(const std::uint32_t entry, nodes_.read_entry(head, "head"));
      graph_.outputs.push_back(entry);
    }
    if (graph_.outputs.empty())
      return refuse_subgraph(*members[2], "heads is empty, minimum is 1 output");
    return std::move(graph_);
  }

 private:
  Status read_row_ptr(JsonValue row, std::size_t node_count) {
    if (row.size() != node_count + 1) {
      return refuse_subgraph(row, "node_row_ptr has ", row.size(), " items, expected ",
                             node_count + 1, ", one more than nodes");
    }
    for (const JsonValue item : row) {
      GANTRY_TRY(const std::uint32_t entry, read_subgraph_index(item, "item of node_row_ptr"));
      const std::uint32_t last = row_.empty() ? 0 : row_.back();
      if (entry < last || (row_.empty() && entry != 0)) {
        return refuse_subgraph(item, "node_row_ptr[", row_.size(), "] is ", entry,
                               row_.empty() ? ", expected " : ", minimum is ", last);
      }
      row_.push_back(entry);
    }
    return {};
  }

  Status read_arguments(JsonValue arguments) {
    std::vector<bool> seen(graph_.nodes.size());
    for (const JsonValue item : arguments) {
      GANTRY_TRY(const std::uint32_t n, read_subgraph_index(item, "item of arg_nodes"));
      if (n >= graph_.nodes.size()) {
        return refuse_subgraph(item, "arg_nodes has node ", n, ", node count is ",
                               graph_.nodes.size());
      }
      const SubgraphNode& node = graph_.nodes[n];
      const std::string what = concat("node ", n, " ", quoted(node.name));
      if (seen[n]) return refuse_subgraph(item, "arg_nodes has ", what, " twice");
      seen[n] = true;
      if (node.kind == SubgraphNodeKind::input) {
        for (std::uint32_t i = 0; i < node.output_count; ++i)
          graph_.inputs.push_back(node.first_entry + i);
      } else if (node.kind == SubgraphNodeKind::constant) {
        GANTRY_CHECK(add_constant(item, node, what));
      } else {
        return refuse_subgraph(item, "arg_nodes has ", what, ", which is a kernel");
      }
    }
    for (std::size_t n = 0; n < seen.size(); ++n) {
      if (!seen[n] && graph_.nodes[n].kind != SubgraphNodeKind::kernel) {
        return refuse_subgraph(arguments, "arg_nodes does not have node ", n, " ",
                               quoted(graph_.nodes[n].name), ", which is no kernel");
      }
    }
    if (graph_.constants.size() == constants_.size()) return {};
    return refuse_subgraph(arguments, "arg_nodes has ", graph_.constants.size(),
                           " constants, the payload's list has ", constants_.size());
  }

  Status add_constant(JsonValue item, const SubgraphNode& node, std::string_view what) {
    const std::size_t i = graph_.constants.size();
    if (node.output_count != 1) {
      return refuse_subgraph(item, what, " is a constant of ", node.output_count,
                             " tensors, expected 1");
    }
    if (i < constants_.size() && constants_[i] != node.name) {
      return refuse_subgraph(item, "constant ", i, " is ", what, ", the payload's list has ",
                             quoted(constants_[i]));
    }
    graph_.constants.push_back(node.first_entry);
    return {};
  }

  std::span<const std::string_view> constants_;
  Subgraph graph_;
  std::vector<std::uint32_t> row_;
  SubgraphNodeReader nodes_{graph_, row_};
};

}  // namespace detail

// Reads a payload without its graph.
//
// returns  MALFORMED  at the first wrong field
// lifetime views into the reader's bytes
// costs    O(constants)
// source   apache/tvm src/runtime/contrib/json/json_runtime.h (v0.8 to v0.27)
inline Result<SubgraphPayload> read_subgraph_payload(ByteReader& in) {
  SubgraphPayload payload;
  GANTRY_TRY(payload.symbol, in.read_string("symbol"));
  payload.graph_at = in.offset() + sizeof(std::uint64_t);
  GANTRY_TRY(payload.graph_json, in.read_string("graph_json"));
  GANTRY_TRY(const std::uint64_t count, in.read_count(sizeof(std::uint64_t), "constant names"));
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(const std::string_view name, in.read_string("name of a constant"));
    payload.constants.push_back(name);
  }
  return payload;
}

// Reads the graph of a payload.
//
// returns  MALFORMED    the text is not a valid sub-graph, or its constants are not those of the
//                       payload (SUBGRAPH); a dtype (DTYPE)
//          UNSUPPORTED  a kind of node, or a dtype, that this version does not support
// costs    time and memory O(graph_json)
// source   apache/tvm src/runtime/contrib/json/json_node.h and json_runtime.h,
//          src/relay/backend/contrib/codegen_json/codegen_json.h (v0.8 to v0.19),
//          src/relax/backend/contrib/codegen_json/codegen_json.h (v0.20 to v0.27)
inline Result<Subgraph> read_json_subgraph(const SubgraphPayload& payload) {
  const JsonOptions options{
      .name = "sub-graph", .reason = "SUBGRAPH", .offset = payload.graph_at, .max_depth = 8};
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(payload.graph_json, options));
  return detail::SubgraphReader(payload.constants).read(tree.root());
}

}  // namespace gantry
