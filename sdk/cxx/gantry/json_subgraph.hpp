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

#include <gantry/array_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/dtype_text.hpp>
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
    if (!root.is(JsonKind::object)) return wrong_kind("sub-graph", root, "an object");
    constexpr std::array names{"nodes", "arg_nodes", "heads", "node_row_ptr", "symbol"};
    std::array<std::optional<JsonValue>, 5> members;
    for (const JsonValue member : root) {
      const auto name = std::ranges::find(names, member.key());
      if (name == names.end()) {
        return refuse(member, "sub-graph has the member ", quoted(member.key()),
                      ", which the format does not have");
      }
      members[static_cast<std::size_t>(name - names.begin())] = member;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      if (!members[i]) return refuse(root, "sub-graph has no ", quoted(names[i]));
      if (!members[i]->is(JsonKind::array)) return wrong_kind(names[i], *members[i], list);
    }
    GANTRY_CHECK(read_row_ptr(*members[3], members[0]->size()));
    for (const JsonValue node : *members[0]) GANTRY_CHECK(read_node(node));
    GANTRY_CHECK(read_arguments(*members[1]));
    for (const JsonValue head : *members[2]) {
      GANTRY_TRY(const std::uint32_t entry, read_entry(head, "head"));
      graph_.outputs.push_back(entry);
    }
    if (graph_.outputs.empty()) return refuse(*members[2], "heads is empty, minimum is 1 output");
    return std::move(graph_);
  }

 private:
  static constexpr std::string_view list = "a list";
  // Compilers write about 20. They are searched one after another.
  static constexpr std::size_t max_attributes = 256;

  template <class... Parts>
  static Failure refuse(JsonValue at, const Parts&... parts) {
    return malformed(at.offset(), parts...).with_reason("SUBGRAPH");
  }
  static Failure wrong_kind(std::string_view what, JsonValue found, std::string_view expected) {
    return refuse(found, what, " is ", name_of(found.kind()), ", expected ", expected);
  }

  static Result<std::uint32_t> read_index(JsonValue value, std::string_view what) {
    if (value.is(JsonKind::count) && value.count() <= INT32_MAX)
      return static_cast<std::uint32_t>(value.count());
    if (!value.is(JsonKind::count)) return wrong_kind(what, value, "an index");
    return refuse(value, what, " is ", value.count(), ", maximum is ", INT32_MAX);
  }

  std::string title() const {
    return concat("node ", graph_.nodes.size(), " ", quoted(node_.name));
  }

  Status read_row_ptr(JsonValue row, std::size_t node_count) {
    if (row.size() != node_count + 1) {
      return refuse(row, "node_row_ptr has ", row.size(), " items, expected ", node_count + 1,
                    ", one more than nodes");
    }
    for (const JsonValue item : row) {
      GANTRY_TRY(const std::uint32_t entry, read_index(item, "item of node_row_ptr"));
      const std::uint32_t last = row_.empty() ? 0 : row_.back();
      if (entry < last || (row_.empty() && entry != 0)) {
        return refuse(item, "node_row_ptr[", row_.size(), "] is ", entry,
                      row_.empty() ? ", expected " : ", minimum is ", last);
      }
      row_.push_back(entry);
    }
    return {};
  }

  Status read_node(JsonValue node) {
    node_ = {};
    types_ = {};
    shapes_ = {};
    node_.at = node.offset();
    const std::string place = concat("node ", graph_.nodes.size());
    if (!node.is(JsonKind::object)) return wrong_kind(place, node, "an object");
    std::optional<JsonValue> op, name, inputs, attributes;
    for (const JsonValue member : node) {
      const std::string_view key = member.key();
      const bool is_text = key == "op" || key == "name";
      if (!is_text && key != "inputs" && key != "attrs" && key != "attr") {
        return refuse(member, place, " has the member ", quoted(key),
                      ", which the format does not have");
      }
      const JsonKind kind = is_text           ? JsonKind::text
                            : key == "inputs" ? JsonKind::array
                                              : JsonKind::object;
      if (!member.is(kind)) {
        return wrong_kind(concat(place, " member ", quoted(key)), member, name_of(kind));
      }
      (key == "op" ? op : key == "name" ? name : key == "inputs" ? inputs : attributes) = member;
    }
    if (!op || !name) return refuse(node, place, " has no member ", op ? "\"name\"" : "\"op\"");
    node_.name = name->text();
    GANTRY_CHECK(set_kind(*op));
    node_.first_entry = row_[graph_.nodes.size()];
    node_.output_count = row_[graph_.nodes.size() + 1] - node_.first_entry;
    if (inputs) {
      for (const JsonValue input : *inputs) {
        GANTRY_TRY(const std::uint32_t entry, read_entry(input, title() + " input"));
        node_.inputs.push_back(entry);
      }
    }
    if (node_.kind != SubgraphNodeKind::kernel && !node_.inputs.empty()) {
      return refuse(node, title(), " has inputs and op ", quoted(op->text()), ", expected kernel");
    }
    if (attributes) {
      if (attributes->size() > max_attributes) {
        return refuse(*attributes, title(), " has ", attributes->size(), " attributes, maximum is ",
                      max_attributes);
      }
      for (const JsonValue attribute : *attributes) GANTRY_CHECK(read_attribute(attribute));
    }
    GANTRY_CHECK(add_entries(node));
    graph_.nodes.push_back(std::move(node_));
    return {};
  }

  Status set_kind(JsonValue op) {
    if (op.text() == "input") {
      node_.kind = SubgraphNodeKind::input;
    } else if (op.text() == "const") {
      node_.kind = SubgraphNodeKind::constant;
    } else if (op.text() == "kernel") {
      node_.kind = SubgraphNodeKind::kernel;
    } else {
      Error error = unsupported(title(), " has op ", quoted(op.text()),
                                ", supported are input, const and kernel")
                        .with_reason("SUBGRAPH");
      error.offset = op.offset();
      return error;
    }
    return {};
  }

  // [node, index], or [node, index, version].
  Result<std::uint32_t> read_entry(JsonValue reference, std::string_view what) const {
    if (!reference.is(JsonKind::array) || reference.size() < 2 || reference.size() > 3) {
      return refuse(reference, what, " is ", name_of(reference.kind()), " of ", reference.size(),
                    " items, expected a list of node and output index");
    }
    auto item = reference.begin();
    GANTRY_TRY(const std::uint32_t node, read_index(*item, what));
    ++item;
    GANTRY_TRY(const std::uint32_t index, read_index(*item, what));
    if (node >= graph_.nodes.size()) {
      return refuse(reference, what, " is of node ", node, ", nodes before it are ",
                    graph_.nodes.size());
    }
    if (index >= graph_.nodes[node].output_count) {
      return refuse(reference, what, " is output ", index, " of node ", node, ", which has ",
                    graph_.nodes[node].output_count);
    }
    return graph_.nodes[node].first_entry + index;
  }

  Status read_attribute(JsonValue value) {
    const std::string_view name = value.key();
    // Written as texts; node_row_ptr and the list of inputs have the same numbers.
    if (name == "num_inputs" || name == "num_outputs") return read_count(value);
    const auto what = [&] { return concat(title(), " attribute ", quoted(name)); };
    if (!value.is(JsonKind::array) || value.size() != 1 || !(*value.begin()).is(JsonKind::array)) {
      return wrong_kind(what(), value, "a list that contains one list");
    }
    const JsonValue inner = *value.begin();
    if (name == "shape") return read_shapes(inner);
    std::vector<std::string> texts;
    for (const JsonValue text : inner) {
      if (!text.is(JsonKind::text)) return wrong_kind(what(), text, "a string");
      texts.emplace_back(text.text());
    }
    if (name == "dtype") return read_types(inner, texts);
    if (node_.find(name) != nullptr) return refuse(value, what(), " is given twice");
    node_.attributes.push_back({std::string(name), std::move(texts)});
    return {};
  }

  Status read_count(JsonValue value) const {
    if (!value.is(JsonKind::text)) {
      return wrong_kind(concat(title(), " attribute ", quoted(value.key())), value, "a string");
    }
    const bool is_inputs = value.key() == "num_inputs";
    const std::uint64_t expected = is_inputs ? node_.inputs.size() : node_.output_count;
    if (value.text() == concat(expected)) return {};
    return refuse(value, title(), " attribute ", value.key(), " is ", quoted(value.text()),
                  is_inputs ? ", number of inputs is " : ", node_row_ptr gives it ", expected);
  }

  Status read_types(JsonValue list_of_types, const std::vector<std::string>& texts) {
    types_.clear();
    for (const std::string& text : texts) {
      const auto type = parse_dtype(text);
      if (!type.ok()) {
        Error error = type.error();
        error.offset = list_of_types.offset();
        error.message = Message(title(), " output ", types_.size(), ": ", error.message);
        return error;
      }
      types_.push_back(*type);
    }
    return {};
  }

  Status read_shapes(JsonValue list_of_shapes) {
    shapes_.clear();
    for (const JsonValue shape : list_of_shapes) {
      const auto what = [&] { return concat(title(), " shape ", shapes_.size()); };
      if (!shape.is(JsonKind::array)) return wrong_kind(what(), shape, "a list of extents");
      if (shape.size() > max_array_dimensions) {
        return refuse(shape, what(), " has ", shape.size(), " dimensions, maximum is ",
                      max_array_dimensions);
      }
      std::vector<std::int64_t> extents;
      for (const JsonValue extent : shape) {
        const bool is_number = extent.is(JsonKind::negative) ||
                               (extent.is(JsonKind::count) && extent.count() <= INT64_MAX);
        if (!is_number) return wrong_kind(what() + " extent", extent, "a whole number");
        // -1: known when the function is called.
        if (extent.integer() < -1) {
          return refuse(extent, what(), " has extent ", extent.integer(), ", minimum is -1");
        }
        extents.push_back(extent.integer());
      }
      shapes_.push_back(std::move(extents));
    }
    return {};
  }

  Status add_entries(JsonValue node) {
    if (shapes_.size() != node_.output_count || types_.size() != node_.output_count) {
      return refuse(node, title(), " has ", shapes_.size(), " shapes and ", types_.size(),
                    " dtypes, node_row_ptr gives it ", node_.output_count, " outputs");
    }
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      std::vector<std::int64_t> known = shapes_[i];
      std::ranges::replace(known, -1, 1);
      const auto bytes = tensor_bytes(known, types_[i]);
      if (!bytes.ok()) {
        return refuse(node, title(), " output ", i, ": ", bytes.error().message);
      }
      graph_.entries.push_back({types_[i], std::move(shapes_[i])});
    }
    return {};
  }

  Status read_arguments(JsonValue arguments) {
    std::vector<bool> seen(graph_.nodes.size());
    for (const JsonValue item : arguments) {
      GANTRY_TRY(const std::uint32_t n, read_index(item, "item of arg_nodes"));
      if (n >= graph_.nodes.size()) {
        return refuse(item, "arg_nodes has node ", n, ", node count is ", graph_.nodes.size());
      }
      const SubgraphNode& node = graph_.nodes[n];
      const std::string what = concat("node ", n, " ", quoted(node.name));
      if (seen[n]) return refuse(item, "arg_nodes has ", what, " twice");
      seen[n] = true;
      if (node.kind == SubgraphNodeKind::input) {
        for (std::uint32_t i = 0; i < node.output_count; ++i)
          graph_.inputs.push_back(node.first_entry + i);
      } else if (node.kind == SubgraphNodeKind::constant) {
        GANTRY_CHECK(add_constant(item, node, what));
      } else {
        return refuse(item, "arg_nodes has ", what, ", which is a kernel");
      }
    }
    for (std::size_t n = 0; n < seen.size(); ++n) {
      if (!seen[n] && graph_.nodes[n].kind != SubgraphNodeKind::kernel) {
        return refuse(arguments, "arg_nodes does not have node ", n, " ",
                      quoted(graph_.nodes[n].name), ", which is no kernel");
      }
    }
    if (graph_.constants.size() == constants_.size()) return {};
    return refuse(arguments, "arg_nodes has ", graph_.constants.size(),
                  " constants, the payload's list has ", constants_.size());
  }

  Status add_constant(JsonValue item, const SubgraphNode& node, std::string_view what) {
    const std::size_t i = graph_.constants.size();
    if (node.output_count != 1) {
      return refuse(item, what, " is a constant of ", node.output_count, " tensors, expected 1");
    }
    if (i < constants_.size() && constants_[i] != node.name) {
      return refuse(item, "constant ", i, " is ", what, ", the payload's list has ",
                    quoted(constants_[i]));
    }
    graph_.constants.push_back(node.first_entry);
    return {};
  }

  std::span<const std::string_view> constants_;
  Subgraph graph_;
  std::vector<std::uint32_t> row_;
  // The node that is being read.
  SubgraphNode node_;
  std::vector<gantry_dtype> types_;
  std::vector<std::vector<std::int64_t>> shapes_;
};

}  // namespace detail

// Reads a payload without its graph.
//
// returns  MALFORMED  at the first wrong field
// lifetime views into the reader's bytes
// costs    O(constants)
// source   apache/tvm src/runtime/contrib/json/json_runtime.h (v0.8 to v0.19)
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
//          src/relay/backend/contrib/codegen_json/codegen_json.h (v0.8 to v0.19)
inline Result<Subgraph> read_json_subgraph(const SubgraphPayload& payload) {
  const JsonOptions options{
      .name = "sub-graph", .reason = "SUBGRAPH", .offset = payload.graph_at, .max_depth = 8};
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(payload.graph_json, options));
  return detail::SubgraphReader(payload.constants).read(tree.root());
}

}  // namespace gantry
