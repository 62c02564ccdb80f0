// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graph_lists.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

namespace gantry {
namespace {

// The path of a value, for errors: "nodes[3].inputs[0][1]".
struct Path {
  // NULL: the graph itself
  const Path* around = nullptr;
  // empty: an item of a list
  std::string_view key = {};
  std::size_t index = 0;

  std::string text() const {
    if (around == nullptr) return "graph";
    std::string text = around->around == nullptr ? "" : around->text();
    if (key.empty()) return text + concat("[", index, "]");
    return text.append(text.empty() ? "" : ".").append(key);
  }
};

// container  [in]  the object or list that contains the invalid value
template <class... Parts>
Failure refuse(JsonValue container, const Parts&... parts) {
  return malformed(container.offset(), parts...).with_reason("GRAPH");
}

Failure wrong_kind(JsonValue container, const Path& path, JsonValue value,
                   std::string_view expected) {
  const bool is_large = value.is(JsonKind::count) && value.count() > INT64_MAX;
  return refuse(container, path.text(), " is ",
                is_large ? "a number past 2^63" : name_of(value.kind()), ", expected ", expected);
}

// A key that the format defines and the kind of its value, or none for any kind. Keys with the same
// slot are synonyms.
struct Key {
  std::string_view name;
  std::size_t slot;
  std::optional<JsonKind> kind;
};
constexpr Key graph_keys[] = {
    {"nodes", 0, JsonKind::array},        {"arg_nodes", 1, JsonKind::array},
    {"node_row_ptr", 2, JsonKind::array}, {"heads", 3, JsonKind::array},
    {"attrs", 4, JsonKind::object},       {"metadata", 5, {}}};
constexpr Key node_keys[] = {{"op", 0, JsonKind::text},      {"name", 1, JsonKind::text},
                             {"inputs", 2, JsonKind::array}, {"attrs", 3, JsonKind::object},
                             {"attr", 3, JsonKind::object},  {"control_deps", 4, {}}};
constexpr Key operator_attributes[] = {{"func_name", 0, JsonKind::text},
                                       {"num_inputs", 1, JsonKind::text},
                                       {"num_outputs", 2, JsonKind::text},
                                       {"flatten_data", 3, JsonKind::text}};
constexpr Key graph_attributes[] = {{"dltype", 0, {}},        {"storage_id", 1, {}},
                                    {"shape", 2, {}},         {"device_index", 3, {}},
                                    {"storage_scope", 4, {}}, {"gantry_devices", 5, {}}};

constexpr Key metadata_keys[] = {{"gantry_output_names", 0, JsonKind::array}};

// The values of an object's keys, by slot.
using Members = std::array<std::optional<JsonValue>, 6>;

Result<Members> members_of(JsonValue object, const Path& path, std::span<const Key> keys,
                           bool allows_others) {
  Members members;
  for (const JsonValue value : object) {
    const std::string_view name = value.key();
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const Key& known) { return known.name == name; });
    if (key == keys.end()) {
      if (allows_others) continue;
      return refuse(object, path.text(), " has key ", quoted(name), ", known are ",
                    join(keys, ", ", &Key::name));
    }
    const Path here{&path, name};
    if (members[key->slot]) return refuse(object, here.text(), " is given twice");
    if (key->kind && !value.is(*key->kind)) {
      return wrong_kind(object, here, value, name_of(*key->kind));
    }
    members[key->slot] = value;
  }
  return members;
}

// Reads the items of a list.
//
// read     [in]   reads one item; its arguments are the list, the item and the path of the item
template <class T>
Result<GraphList<T>> read_list(JsonValue list, const Path& path,
                               Result<T> (*read)(JsonValue, JsonValue, const Path&)) {
  GraphList<T> result;
  result.at = list.offset();
  for (const JsonValue item : list) {
    GANTRY_TRY(T value, read(list, item, {&path, {}, result.items.size()}));
    result.items.push_back(std::move(value));
  }
  return result;
}

Result<std::string_view> read_text(JsonValue list, JsonValue item, const Path& path) {
  if (!item.is(JsonKind::text)) return wrong_kind(list, path, item, "a string");
  return item.text();
}

Result<std::int64_t> read_integer(JsonValue list, JsonValue item, const Path& path) {
  if (item.is(JsonKind::negative)) return item.integer();
  if (item.is(JsonKind::count) && item.count() <= INT64_MAX) return item.integer();
  return wrong_kind(list, path, item, "a whole number");
}

Result<std::uint64_t> read_count(JsonValue list, JsonValue item, const Path& path) {
  constexpr std::string_view expected = "a number, 0 or more";
  if (item.is(JsonKind::count) && item.count() <= INT64_MAX) return item.count();
  if (!item.is(JsonKind::negative)) return wrong_kind(list, path, item, expected);
  if (item.integer() == 0) return 0;
  return refuse(list, path.text(), " is ", item.integer(), ", expected ", expected);
}

Result<std::vector<std::int64_t>> read_extents(JsonValue list, JsonValue item, const Path& path) {
  if (!item.is(JsonKind::array)) return wrong_kind(list, path, item, "a list of extents");
  GANTRY_TRY(GraphList<std::int64_t> extents, read_list(item, path, read_integer));
  return std::move(extents.items);
}

// [node, index], or [node, index, version].
Result<GraphOutputRef> read_output_ref(JsonValue list, JsonValue item, const Path& path) {
  if (!item.is(JsonKind::array)) return wrong_kind(list, path, item, "a list of node and output");
  std::uint64_t numbers[3] = {};
  std::size_t count = 0;
  for (const JsonValue number : item) {
    if (count == std::size(numbers)) break;
    GANTRY_TRY(numbers[count], read_count(item, number, {&path, {}, count}));
    ++count;
  }
  if (item.size() < 2 || item.size() > 3) {
    return refuse(item, path.text(), " has ", item.size(), " items, range is 2 to 3");
  }
  return GraphOutputRef{numbers[0], numbers[1]};
}

Result<GraphNodeText> read_node(JsonValue list, JsonValue item, const Path& path) {
  if (!item.is(JsonKind::object)) return wrong_kind(list, path, item, "a node");
  GANTRY_TRY(const Members members, members_of(item, path, node_keys, false));
  for (const std::size_t key : {0, 1, 2}) {
    if (!members[key]) return refuse(item, path.text(), " has no ", quoted(node_keys[key].name));
  }
  GraphNodeText node{item.offset(), members[0]->text(), members[1]->text()};
  GANTRY_TRY(node.inputs, read_list(*members[2], {&path, "inputs"}, read_output_ref));
  Members attributes;
  if (members[3]) {
    GANTRY_TRY(attributes,
               members_of(*members[3], {&path, members[3]->key()}, operator_attributes, true));
  }
  if (node.op == "null") return node;
  std::string_view* const texts[] = {&node.func_name, &node.num_inputs, &node.num_outputs,
                                     &node.flatten_data};
  for (std::size_t key = 0; key < std::size(texts); ++key) {
    if (!attributes[key]) {
      return refuse(item, path.text(), " ", quoted(node.name), " has no attribute ",
                    quoted(operator_attributes[key].name));
    }
    *texts[key] = attributes[key]->text();
  }
  return node;
}

// Reads a graph attribute: ["list_shape", [...]].
template <class T>
Result<GraphList<T>> read_attribute(JsonValue attrs, JsonValue attribute, std::string_view tag,
                                    Result<T> (*read)(JsonValue, JsonValue, const Path&)) {
  const Path graph, of_attrs{&graph, "attrs"}, path{&of_attrs, attribute.key()};
  if (!attribute.is(JsonKind::array)) {
    return wrong_kind(attrs, path, attribute, "a list of tag and values");
  }
  if (attribute.size() != 2) {
    return refuse(attribute, path.text(), " has ", attribute.size(),
                  " items, expected a tag and a list");
  }
  auto item = attribute.begin();
  const JsonValue found = *item, list = *++item;
  if (!found.is(JsonKind::text)) return wrong_kind(attribute, {&path, {}, 0}, found, "a tag");
  const Path values{&path, {}, 1};
  if (!list.is(JsonKind::array)) return wrong_kind(attribute, values, list, "a list");
  if (found.text() != tag) {
    return refuse(attribute, path.text(), " has tag ", quoted(found.text()), ", expected ",
                  quoted(tag));
  }
  GANTRY_TRY(GraphList<T> result, read_list(list, values, read));
  result.at = attribute.offset();
  return result;
}

Status read_attributes(JsonValue graph, JsonValue attrs, GraphLists& lists) {
  const Path path;
  GANTRY_TRY(const Members members, members_of(attrs, {&path, "attrs"}, graph_attributes, true));
  for (const std::size_t key : {0, 1, 2}) {
    if (!members[key]) {
      return refuse(graph, "graph has no attribute ", quoted(graph_attributes[key].name));
    }
  }
  GANTRY_TRY(lists.dltype, read_attribute(attrs, *members[0], "list_str", read_text));
  GANTRY_TRY(lists.storage_id, read_attribute(attrs, *members[1], "list_int", read_integer));
  GANTRY_TRY(lists.shape, read_attribute(attrs, *members[2], "list_shape", read_extents));
  if (members[3]) {
    GANTRY_TRY(lists.device_index, read_attribute(attrs, *members[3], "list_int", read_integer));
  }
  if (members[4]) {
    GANTRY_TRY(lists.storage_scope, read_attribute(attrs, *members[4], "list_str", read_text));
  }
  if (members[5]) {
    GANTRY_TRY(lists.devices, read_attribute(attrs, *members[5], "list_int", read_integer));
  }
  return {};
}

Status read_metadata(JsonValue metadata, GraphLists& lists) {
  if (!metadata.is(JsonKind::object)) return {};
  const Path graph, path{&graph, "metadata"};
  GANTRY_TRY(const Members members, members_of(metadata, path, metadata_keys, true));
  if (members[0]) {
    GANTRY_TRY(lists.output_names,
               read_list(*members[0], {&path, metadata_keys[0].name}, read_text));
  }
  return {};
}

}  // namespace

Result<GraphLists> read_graph_lists(const JsonTree& tree) {
  const JsonValue graph = tree.root();
  const Path path;
  if (!graph.is(JsonKind::object)) return wrong_kind(graph, path, graph, "an object");
  GANTRY_TRY(const Members members, members_of(graph, path, graph_keys, false));
  for (const std::size_t key : {0, 1, 2, 3, 4}) {
    if (!members[key]) return refuse(graph, "graph has no ", quoted(graph_keys[key].name));
  }
  GraphLists lists;
  GANTRY_TRY(lists.nodes, read_list(*members[0], {&path, "nodes"}, read_node));
  GANTRY_TRY(lists.arg_nodes, read_list(*members[1], {&path, "arg_nodes"}, read_count));
  GANTRY_TRY(lists.node_row_ptr, read_list(*members[2], {&path, "node_row_ptr"}, read_count));
  GANTRY_TRY(lists.heads, read_list(*members[3], {&path, "heads"}, read_output_ref));
  GANTRY_CHECK(read_attributes(graph, *members[4], lists));
  if (members[5]) GANTRY_CHECK(read_metadata(*members[5], lists));
  return lists;
}

}  // namespace gantry
