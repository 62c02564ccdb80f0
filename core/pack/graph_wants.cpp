// SPDX-License-Identifier: Apache-2.0
#include "core/pack/graph_wants.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace gantry {
namespace {

using Json = nlohmann::json;

template <class... Parts>
Error bad_graph(const Parts&... parts) {
  return malformed(no_offset, "graph: ", parts...).because("GRAPH");
}

Result<const Json*> member(const Json& object, const char* key, Json::value_t type,
                           std::string_view what) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) return bad_graph(what, " has no \"", key, "\"");
  if (found->type() != type) {
    return bad_graph(what, " has ", found->type_name(), " as \"", key, "\", expected ",
                     Json(type).type_name());
  }
  return &*found;
}

// The payload of a graph attribute: ["list_shape", [...]].
Result<const Json*> attribute(const Json& graph, const char* key) {
  GANTRY_TRY(const Json* const attrs, member(graph, "attrs", Json::value_t::object, "the graph"));
  GANTRY_TRY(const Json* const value, member(*attrs, key, Json::value_t::array, "\"attrs\""));
  if (value->size() != 2 || !(*value)[1].is_array()) {
    return bad_graph("attribute \"", key, "\" is no pair of a tag and a list");
  }
  return &(*value)[1];
}

Result<std::size_t> index_at(const Json& list, std::size_t i, std::size_t limit,
                             std::string_view what) {
  if (i >= list.size() || !list[i].is_number_unsigned() || list[i].get<std::uint64_t>() >= limit) {
    return bad_graph(what, " ", i, " is no index below ", limit);
  }
  return list[i].get<std::size_t>();
}

Result<TensorType> entry_type(const Json& dtypes, const Json& shapes, std::size_t entry) {
  TensorType type;
  if (!dtypes[entry].is_string()) return bad_graph("dltype ", entry, " is no string");
  GANTRY_TRY(type.dtype, parse_dtype(dtypes[entry].get_ref<const std::string&>()));
  if (!shapes[entry].is_array()) return bad_graph("shape ", entry, " is no list");
  for (const Json& extent : shapes[entry]) {
    if (!extent.is_number_integer()) return bad_graph("shape ", entry, " holds no integers");
    type.shape.push_back(extent.get<std::int64_t>());
  }
  return type;
}

Status read_arguments(const Json& graph, const Json& nodes, GraphWants& wants) {
  GANTRY_TRY(const Json* const args, member(graph, "arg_nodes", Json::value_t::array, "the graph"));
  GANTRY_TRY(const Json* const rows,
             member(graph, "node_row_ptr", Json::value_t::array, "the graph"));
  GANTRY_TRY(const Json* const dtypes, attribute(graph, "dltype"));
  GANTRY_TRY(const Json* const shapes, attribute(graph, "shape"));
  const std::size_t entries = std::min(dtypes->size(), shapes->size());
  for (std::size_t i = 0; i < args->size(); ++i) {
    GANTRY_TRY(const std::size_t node, index_at(*args, i, nodes.size(), "arg_nodes"));
    GANTRY_TRY(const std::size_t entry, index_at(*rows, node, entries, "node_row_ptr"));
    GANTRY_TRY(const Json* const name,
               member(nodes[node], "name", Json::value_t::string, concat("node ", node)));
    GANTRY_TRY(TensorType type, entry_type(*dtypes, *shapes, entry));
    wants.arguments.push_back({name->get<std::string>(), std::move(type)});
  }
  return {};
}

Status read_functions(const Json& nodes, GraphWants& wants) {
  std::set<std::string> functions;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::string node = concat("node ", n);
    GANTRY_TRY(const Json* const op, member(nodes[n], "op", Json::value_t::string, node));
    if (op->get_ref<const std::string&>() == "null") continue;
    const char* const key = nodes[n].contains("attrs") ? "attrs" : "attr";
    GANTRY_TRY(const Json* const attrs, member(nodes[n], key, Json::value_t::object, node));
    GANTRY_TRY(const Json* const name,
               member(*attrs, "func_name", Json::value_t::string, node + " \"attrs\""));
    functions.insert(name->get<std::string>());
  }
  functions.erase("__nop");
  functions.erase("__copy");
  wants.functions.assign(functions.begin(), functions.end());
  return {};
}

}  // namespace

Result<GraphWants> read_graph_wants(std::string_view json) {
  const Json graph = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (graph.is_discarded()) return bad_graph("the text is no JSON");
  GANTRY_TRY(const Json* const nodes, member(graph, "nodes", Json::value_t::array, "the graph"));
  GraphWants wants;
  GANTRY_CHECK(read_arguments(graph, *nodes, wants));
  GANTRY_CHECK(read_functions(*nodes, wants));
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
