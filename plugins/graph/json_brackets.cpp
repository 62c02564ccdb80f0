// SPDX-License-Identifier: Apache-2.0
#include "json_reader.hpp"

namespace gantry::graph {
namespace {

constexpr std::size_t deepest = 32;

}  // namespace

bool JsonReader::open(In in) {
  const std::uint64_t at = bracket();
  if (frames_.size() == deepest) return refuse("graph is nested deeper than ", deepest);
  frames_.push_back({in, at, 0, {}});
  return true;
}

bool JsonReader::start_object(std::size_t) {
  if (frames_.empty()) {
    graph.at = bracket();
    return open(In::graph);
  }
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  if (frame.in == In::graph && frame.key == "attrs") return open(In::graph_attrs);
  if (frame.in == In::nodes) {
    graph.nodes.items.emplace_back().at = bracket();
    node_keys_ = node_attr_keys_ = 0;
    return open(In::node);
  }
  if (frame.in == In::node && (frame.key == "attrs" || frame.key == "attr"))
    return open(In::node_attrs);
  return other("an object") && open(In::skipped);
}

bool JsonReader::start_array(std::size_t) {
  if (frames_.empty()) return wrong("a list", "an object");
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  switch (frame.in) {
    case In::graph:
      if (frame.key == "nodes") return open_list(In::nodes, graph.nodes);
      if (frame.key == "heads") return open_entries(graph.heads);
      if (frame.key == "arg_nodes") return open_numbers(graph.arg_nodes);
      if (frame.key == "node_row_ptr") return open_numbers(graph.node_row_ptr);
      break;
    case In::node:
      if (frame.key == "inputs") return open_entries(node().inputs);
      break;
    case In::entries:
      entries_->items.emplace_back();
      return open(In::entry);
    case In::graph_attrs:
      tag_.clear();
      switch (known_key(frame)) {
        case 0:
          return open_list(In::graph_attr, graph.dltype);
        case 1:
          return open_list(In::graph_attr, graph.storage_id);
        case 2:
          return open_list(In::graph_attr, graph.shape);
        case 3:
          return open_list(In::graph_attr, graph.device_index);
        case 4:
          return open_list(In::graph_attr, graph.storage_scope);
        default:
          break;
      }
      break;
    case In::graph_attr:
      if (frame.count != 2) break;
      switch (known_key(frames_[frames_.size() - 2])) {
        case 0:
        case 4:
          return open_payload(In::texts, "list_str");
        case 1:
        case 3:
          return open_payload(In::integers, "list_int");
        case 2:
          return open_payload(In::shapes, "list_shape");
        default:
          break;
      }
      break;
    case In::shapes:
      graph.shape.items.emplace_back();
      return open(In::shape);
    default:
      break;
  }
  return other("a list") && open(In::skipped);
}

bool JsonReader::open_payload(In in, std::string_view tag) {
  if (tag_ == tag) return open(in);
  return refuse("attrs.", frames_[frames_.size() - 2].key, " has tag ", quoted(tag_), ", expected ",
                quoted(tag));
}

bool JsonReader::close() {
  const Frame& frame = top();
  if (frame.in == In::entry && frame.count < 2) {
    return refuse(list_location(), " ends after ", frame.count, " numbers, minimum is 2");
  }
  if (frame.in == In::graph_attr && frame.count != 2) {
    return refuse("attrs.", frames_[frames_.size() - 2].key, " has ", frame.count,
                  " items, expected a tag and a list");
  }
  if (frame.in == In::node && !close_node()) return false;
  if (frame.in == In::graph && !close_graph()) return false;
  frames_.pop_back();
  return true;
}

bool JsonReader::close_node() {
  for (const int key : {0, 1, 2}) {
    if (!(node_keys_ & (1u << key))) {
      return refuse("node ", graph.nodes.items.size() - 1, " has no ",
                    quoted(node_key_names[std::size_t(key)]));
    }
  }
  if (node().op == "null") return true;
  for (std::size_t key = 0; key < node_attr_names.size(); ++key) {
    if (!(node_attr_keys_ & (1u << key))) {
      return refuse("node ", graph.nodes.items.size() - 1, " ", quoted(node().name),
                    " has no attribute ", quoted(node_attr_names[key]));
    }
  }
  return true;
}

bool JsonReader::close_graph() {
  for (std::size_t key = 0; key < 5; ++key) {
    if (!(graph_keys_ & (1u << key))) return refuse("graph has no ", quoted(graph_key_names[key]));
  }
  for (std::size_t key = 0; key < 3; ++key) {
    if (!(graph_attr_keys_ & (1u << key)))
      return refuse("graph has no attribute ", quoted(graph_attr_names[key]));
  }
  return true;
}

}  // namespace gantry::graph
