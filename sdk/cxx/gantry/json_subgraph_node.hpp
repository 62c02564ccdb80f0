// SPDX-License-Identifier: Apache-2.0
//
// gantry/json_subgraph_node.hpp - reads one node of a sub-graph in JSON. json_subgraph.hpp reads the
// whole graph, and shows the text.
//
// Attributes have one of two forms, and become lists of texts:
//
//                  up to v0.23          since v0.24, typed     SubgraphNode
//     strides      [["2","2"]]          [2,2]                  {"2", "2"}
//     groups       [["1"]]              1                      {"1"}
//     absent       [[""]]               ""                     {""}
//     shape        [[[1,64]]]           [[1,64]]
//     num_inputs   "2"                  2
#pragma once

#include <gantry/array_record.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>
#include <gantry/subgraph.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::detail {

template <class... Parts>
Failure refuse_subgraph(JsonValue at, const Parts&... parts) {
  return malformed(at.offset(), parts...).with_reason("SUBGRAPH");
}
inline Failure wrong_subgraph_kind(std::string_view what, JsonValue found,
                                   std::string_view expected) {
  return refuse_subgraph(found, what, " is ", name_of(found.kind()), ", expected ", expected);
}

inline Result<std::uint32_t> read_subgraph_index(JsonValue value, std::string_view what) {
  if (value.is(JsonKind::count) && value.count() <= INT32_MAX)
    return static_cast<std::uint32_t>(value.count());
  if (!value.is(JsonKind::count)) return wrong_subgraph_kind(what, value, "an index");
  return refuse_subgraph(value, what, " is ", value.count(), ", maximum is ", INT32_MAX);
}

class SubgraphNodeReader {
 public:
  // graph    [out]  the nodes are appended to it
  // row      [in]   node_row_ptr: read before the first node
  // lifetime both must outlive this object
  SubgraphNodeReader(Subgraph& graph, const std::vector<std::uint32_t>& row)
      : graph_(graph), row_(row) {}

  // Appends the node and its entries to the graph.
  Status read(JsonValue node) {
    node_ = {};
    is_typed_ = false;
    types_ = {};
    shapes_ = {};
    node_.at = node.offset();
    const std::string place = concat("node ", graph_.nodes.size());
    if (!node.is(JsonKind::object)) return wrong_subgraph_kind(place, node, "an object");
    std::optional<JsonValue> op, name, inputs, attributes;
    for (const JsonValue member : node) {
      const std::string_view key = member.key();
      const bool is_text = key == "op" || key == "name";
      if (!is_text && key != "inputs" && key != "attrs" && key != "attr") {
        return refuse_subgraph(member, place, " has the member ", quoted(key),
                               ", which the format does not have");
      }
      const JsonKind kind = is_text           ? JsonKind::text
                            : key == "inputs" ? JsonKind::array
                                              : JsonKind::object;
      if (!member.is(kind)) {
        return wrong_subgraph_kind(concat(place, " member ", quoted(key)), member, name_of(kind));
      }
      (key == "op" ? op : key == "name" ? name : key == "inputs" ? inputs : attributes) = member;
    }
    if (!op || !name)
      return refuse_subgraph(node, place, " has no member ", op ? "\"name\"" : "\"op\"");
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
      return refuse_subgraph(node, title(), " has inputs and op ", quoted(op->text()),
                             ", expected kernel");
    }
    if (attributes) {
      if (attributes->size() > max_attributes) {
        return refuse_subgraph(*attributes, title(), " has ", attributes->size(),
                               " attributes, maximum is ", max_attributes);
      }
      // A list of one empty list is no shape in one form, and that of a scalar in the other.
      const std::optional<JsonValue> types = attributes->find("dtype");
      is_typed_ = types && types->size() != 0 && !(*types->begin()).is(JsonKind::array);
      for (const JsonValue attribute : *attributes) GANTRY_CHECK(read_attribute(attribute));
    }
    GANTRY_CHECK(add_entries(node));
    graph_.nodes.push_back(std::move(node_));
    return {};
  }

  // Returns the entry of a reference: [node, index], or [node, index, version].
  //
  // what     [in]   for errors: "head"
  Result<std::uint32_t> read_entry(JsonValue reference, std::string_view what) const {
    if (!reference.is(JsonKind::array) || reference.size() < 2 || reference.size() > 3) {
      return refuse_subgraph(reference, what, " is ", name_of(reference.kind()), " of ",
                             reference.size(), " items, expected a list of node and output index");
    }
    auto item = reference.begin();
    GANTRY_TRY(const std::uint32_t node, read_subgraph_index(*item, what));
    ++item;
    GANTRY_TRY(const std::uint32_t index, read_subgraph_index(*item, what));
    if (node >= graph_.nodes.size()) {
      return refuse_subgraph(reference, what, " is of node ", node, ", nodes before it are ",
                             graph_.nodes.size());
    }
    if (index >= graph_.nodes[node].output_count) {
      return refuse_subgraph(reference, what, " is output ", index, " of node ", node,
                             ", which has ", graph_.nodes[node].output_count);
    }
    return graph_.nodes[node].first_entry + index;
  }

 private:
  // Compilers write about 20. They are searched one after another.
  static constexpr std::size_t max_attributes = 256;

  std::string title() const {
    return concat("node ", graph_.nodes.size(), " ", quoted(node_.name));
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

  Status read_attribute(JsonValue value) {
    const std::string_view name = value.key();
    // Written as texts; node_row_ptr and the list of inputs have the same numbers.
    if (name == "num_inputs" || name == "num_outputs") return read_count(value);
    const auto what = [&] { return concat(title(), " attribute ", quoted(name)); };
    const bool is_list = value.is(JsonKind::array);
    if (!is_typed_ && (!is_list || value.size() != 1 || !(*value.begin()).is(JsonKind::array)))
      return wrong_subgraph_kind(what(), value, "a list that contains one list");
    const JsonValue inner = is_typed_ ? value : *value.begin();
    if (name == "shape") {
      return is_list ? read_shapes(inner) : wrong_subgraph_kind(what(), value, "a list of shapes");
    }
    std::vector<std::string> texts;
    const auto add = [&](JsonValue item) -> Status {
      GANTRY_TRY(std::string text, text_of(item, what()));
      texts.push_back(std::move(text));
      return {};
    };
    if (!is_list) GANTRY_CHECK(add(value));
    for (const JsonValue item : inner) GANTRY_CHECK(add(item));
    if (name == "dtype") return read_types(inner, texts);
    if (node_.find(name) != nullptr) return refuse_subgraph(value, what(), " is given twice");
    node_.attributes.push_back({std::string(name), std::move(texts)});
    return {};
  }

  // Returns the text of a value that is no list. Before v0.24 all are texts.
  Result<std::string> text_of(JsonValue value, const std::string& what) const {
    if (value.is(JsonKind::text)) return std::string(value.text());
    if (is_typed_ && value.is(JsonKind::count)) return concat(value.count());
    if (is_typed_ && value.is(JsonKind::negative)) return concat(value.integer());
    if (is_typed_ && value.is(JsonKind::boolean)) return std::string(value.truth() ? "1" : "0");
    if (is_typed_ && value.is(JsonKind::fraction)) {
      // The shortest text; 1.0, as in a list with another fraction, is "1".
      char digits[32];
      const auto [end, wrong] = std::to_chars(digits, digits + sizeof digits, value.fraction());
      return std::string(digits, end);
    }
    return wrong_subgraph_kind(what, value, is_typed_ ? "a string or a number" : "a string");
  }

  Status read_count(JsonValue value) const {
    GANTRY_TRY(const std::string text,
               text_of(value, concat(title(), " attribute ", quoted(value.key()))));
    const bool is_inputs = value.key() == "num_inputs";
    const std::uint64_t expected = is_inputs ? node_.inputs.size() : node_.output_count;
    if (text == concat(expected)) return {};
    return refuse_subgraph(value, title(), " attribute ", value.key(), " is ", quoted(text),
                           is_inputs ? ", number of inputs is " : ", node_row_ptr gives it ",
                           expected);
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
      if (!shape.is(JsonKind::array))
        return wrong_subgraph_kind(what(), shape, "a list of extents");
      if (shape.size() > max_array_dimensions) {
        return refuse_subgraph(shape, what(), " has ", shape.size(), " dimensions, maximum is ",
                               max_array_dimensions);
      }
      std::vector<std::int64_t> extents;
      for (const JsonValue extent : shape) {
        const bool is_number = extent.is(JsonKind::negative) ||
                               (extent.is(JsonKind::count) && extent.count() <= INT64_MAX);
        if (!is_number) return wrong_subgraph_kind(what() + " extent", extent, "a whole number");
        // -1: known when the function is called.
        if (extent.integer() < -1) {
          return refuse_subgraph(extent, what(), " has extent ", extent.integer(),
                                 ", minimum is -1");
        }
        extents.push_back(extent.integer());
      }
      shapes_.push_back(std::move(extents));
    }
    return {};
  }

  Status add_entries(JsonValue node) {
    if (shapes_.size() != node_.output_count || types_.size() != node_.output_count) {
      return refuse_subgraph(node, title(), " has ", shapes_.size(), " shapes and ", types_.size(),
                             " dtypes, node_row_ptr gives it ", node_.output_count, " outputs");
    }
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      std::vector<std::int64_t> known = shapes_[i];
      std::ranges::replace(known, -1, 1);
      const auto bytes = tensor_bytes(known, types_[i]);
      if (!bytes.ok()) {
        return refuse_subgraph(node, title(), " output ", i, ": ", bytes.error().message);
      }
      graph_.entries.push_back({types_[i], std::move(shapes_[i])});
    }
    return {};
  }

  Subgraph& graph_;
  const std::vector<std::uint32_t>& row_;
  // The node that is being read.
  SubgraphNode node_;
  // Its attributes have the form of v0.24.
  bool is_typed_ = false;
  std::vector<gantry_dtype> types_;
  std::vector<std::vector<std::int64_t>> shapes_;
};

}  // namespace gantry::detail
