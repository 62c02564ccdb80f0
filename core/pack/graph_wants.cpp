// SPDX-License-Identifier: Apache-2.0
#include "core/pack/graph_wants.hpp"

#include "core/pack/json_tree.hpp"

#include <algorithm>
#include <set>

namespace gantry {
namespace {

template <class... Parts>
Failure bad_graph(const Parts&... parts) {
  return malformed(no_offset, "graph: ", parts...).with_reason("GRAPH");
}

Result<JsonValue> member(JsonValue object, const char* key, JsonKind kind, std::string_view what) {
  const auto found = object.find(key);
  if (!found) return bad_graph(what, " has no \"", key, "\"");
  if (!found->is(kind)) {
    return bad_graph(what, " has ", name_of(found->kind()), " as \"", key, "\", expected ",
                     name_of(kind));
  }
  return *found;
}

// The payload of a graph attribute: ["list_shape", [...]].
Result<JsonValue> attribute(JsonValue graph, const char* key) {
  GANTRY_TRY(const JsonValue attrs, member(graph, "attrs", JsonKind::object, "the graph"));
  GANTRY_TRY(const JsonValue value, member(attrs, key, JsonKind::array, "\"attrs\""));
  if (value.size() != 2 || !value[1].is(JsonKind::array)) {
    return bad_graph("attribute \"", key, "\" is no pair of a tag and a list");
  }
  return value[1];
}

Result<std::size_t> index_at(JsonValue list, std::size_t i, std::size_t limit,
                             std::string_view what) {
  if (i >= list.size() || !list[i].is(JsonKind::count) || list[i].count() >= limit) {
    return bad_graph(what, " ", i, " is no index below ", limit);
  }
  return static_cast<std::size_t>(list[i].count());
}

Result<TensorType> entry_type(JsonValue dtypes, JsonValue shapes, std::size_t entry) {
  TensorType type;
  if (!dtypes[entry].is(JsonKind::text)) return bad_graph("dltype ", entry, " is no string");
  GANTRY_TRY(type.dtype, parse_dtype(dtypes[entry].text()));
  const JsonValue shape = shapes[entry];
  if (!shape.is(JsonKind::array)) return bad_graph("shape ", entry, " is no list");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is(JsonKind::count) && !shape[i].is(JsonKind::negative)) {
      return bad_graph("shape ", entry, " holds no integers");
    }
    type.shape.push_back(shape[i].integer());
  }
  return type;
}

Status read_arguments(JsonValue graph, JsonValue nodes, GraphWants& wants) {
  GANTRY_TRY(const JsonValue args, member(graph, "arg_nodes", JsonKind::array, "the graph"));
  GANTRY_TRY(const JsonValue rows, member(graph, "node_row_ptr", JsonKind::array, "the graph"));
  GANTRY_TRY(const JsonValue dtypes, attribute(graph, "dltype"));
  GANTRY_TRY(const JsonValue shapes, attribute(graph, "shape"));
  const std::size_t entries = std::min(dtypes.size(), shapes.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    GANTRY_TRY(const std::size_t node, index_at(args, i, nodes.size(), "arg_nodes"));
    GANTRY_TRY(const std::size_t entry, index_at(rows, node, entries, "node_row_ptr"));
    GANTRY_TRY(const JsonValue name,
               member(nodes[node], "name", JsonKind::text, concat("node ", node)));
    GANTRY_TRY(TensorType type, entry_type(dtypes, shapes, entry));
    wants.arguments.push_back({name.text(), std::move(type)});
  }
  return {};
}

Status read_functions(JsonValue nodes, GraphWants& wants) {
  std::set<std::string> functions;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::string node = concat("node ", n);
    GANTRY_TRY(const JsonValue op, member(nodes[n], "op", JsonKind::text, node));
    if (op.text() == "null") continue;
    const char* const key = nodes[n].find("attrs") ? "attrs" : "attr";
    GANTRY_TRY(const JsonValue attrs, member(nodes[n], key, JsonKind::object, node));
    GANTRY_TRY(const JsonValue name,
               member(attrs, "func_name", JsonKind::text, node + " \"attrs\""));
    functions.insert(name.text());
  }
  functions.erase("__nop");
  functions.erase("__copy");
  wants.functions.assign(functions.begin(), functions.end());
  return {};
}

}  // namespace

Result<GraphWants> read_graph_wants(std::string_view json) {
  const std::optional<JsonTree> tree = JsonTree::parse(json);
  if (!tree) return bad_graph("the text is no JSON");
  const JsonValue graph = tree->root();
  GANTRY_TRY(const JsonValue nodes, member(graph, "nodes", JsonKind::array, "the graph"));
  GraphWants wants;
  GANTRY_CHECK(read_arguments(graph, nodes, wants));
  GANTRY_CHECK(read_functions(nodes, wants));
  return wants;
}

Status check_parameters(const GraphWants& wants, std::span<const GraphTensor> parameters) {
  for (const GraphTensor& parameter : parameters) {
    const auto wanted =
        std::find_if(wants.arguments.begin(), wants.arguments.end(),
                     [&](const GraphTensor& a) { return a.name == parameter.name; });
    if (wanted == wants.arguments.end()) {
      std::string names;
      for (const GraphTensor& a : wants.arguments) names += (names.empty() ? "" : ", ") + a.name;
      return not_found("parameter ", quoted(parameter.name),
                       " is no argument of the graph, its arguments are ", names);
    }
    if (!same_type(wanted->type, parameter.type)) {
      return invalid("parameter ", quoted(parameter.name), " is ", type_text(parameter.type),
                     ", the graph wants ", type_text(wanted->type));
    }
  }
  return {};
}

}  // namespace gantry
