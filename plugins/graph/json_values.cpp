// SPDX-License-Identifier: Apache-2.0
#include "json_reader.hpp"

#include <algorithm>
#include <utility>

namespace gantry::graph {

bool JsonReader::no_json() {
  const std::string_view read(begin_, static_cast<std::size_t>(seen_ - begin_));
  const std::string_view last = read.substr(read.size() - std::min<std::size_t>(read.size(), 16));
  error =
      malformed(base_ + read.size(), "graph is no JSON behind ", quoted(last)).with_reason("GRAPH");
  return false;
}

bool JsonReader::key(std::string& name) {
  Frame& frame = top();
  if (frame.in == In::skipped) return true;
  frame.key = std::move(name);
  ++frame.count;
  const int index = known_key(frame);
  if (index < 0) {
    if (frame.in == In::graph) {
      return refuse("graph has key ", quoted(frame.key),
                    ", known are nodes, arg_nodes, node_row_ptr, heads, attrs, metadata");
    }
    if (frame.in == In::node) {
      return refuse("node ", graph.nodes.items.size() - 1, " has key ", quoted(frame.key),
                    ", known are op, name, inputs, attrs, attr, control_deps");
    }
    // an attribute that is not ours to read
    return true;
  }
  // "attr" is an old name of "attrs": the two are one key.
  const int slot = frame.in == In::node && index == 4 ? 3 : index;
  std::uint32_t& seen = frame.in == In::graph        ? graph_keys_
                        : frame.in == In::node       ? node_keys_
                        : frame.in == In::node_attrs ? node_attr_keys_
                                                     : graph_attr_keys_;
  if (seen & (1u << slot)) return refuse(location(), " is given twice");
  seen |= 1u << slot;
  return true;
}

bool JsonReader::string(std::string& text) {
  if (frames_.empty()) return wrong("a string", "an object");
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  switch (frame.in) {
    case In::node:
      if (frame.key != "op" && frame.key != "name") return other("a string");
      (frame.key == "op" ? node().op : node().name) = std::move(text);
      return true;
    case In::node_attrs:
      switch (known_key(frame)) {
        case 0:
          node().func_name = std::move(text);
          break;
        case 1:
          node().num_inputs = std::move(text);
          break;
        case 2:
          node().num_outputs = std::move(text);
          break;
        case 3:
          node().flatten_data = std::move(text);
          break;
        default:
          break;
      }
      return true;
    case In::texts:
      (frames_[frames_.size() - 2].at == graph.dltype.at ? graph.dltype : graph.storage_scope)
          .items.push_back(std::move(text));
      return true;
    case In::graph_attr:
      if (frame.count != 1) return other("a string");
      tag_ = std::move(text);
      return true;
    default:
      return other("a string");
  }
}

bool JsonReader::integer(std::int64_t number) {
  if (frames_.empty()) return wrong("a number", "an object");
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  const bool counts = frame.in == In::entry || frame.in == In::numbers;
  if (counts && number < 0) return wrong(concat(number), expected_in(frame.in));
  const auto count = static_cast<std::uint64_t>(number);
  switch (frame.in) {
    case In::entry: {
      JsonEntry& entry = entries_->items.back();
      if (frame.count == 1) entry.node = count;
      if (frame.count == 2) entry.index = count;
      if (frame.count > 3) return wrong("a fourth number", "node, output and version at most");
      return true;
    }
    case In::numbers:
      numbers_->items.push_back(count);
      return true;
    case In::integers:
      (frames_[frames_.size() - 2].at == graph.storage_id.at ? graph.storage_id
                                                             : graph.device_index)
          .items.push_back(number);
      return true;
    case In::shape:
      graph.shape.items.back().push_back(number);
      return true;
    default:
      return other("a number");
  }
}

// A value where its kind is not one that is read: fine only in what is stepped over.
bool JsonReader::other(std::string_view found) {
  if (frames_.empty()) return wrong(found, "an object");
  const Frame& frame = top();
  switch (frame.in) {
    case In::skipped:
      return true;
    case In::graph:
      if (frame.key == "metadata") return true;
      return wrong(found, frame.key == "attrs" ? "an object" : "a list");
    case In::node:
      if (frame.key == "control_deps") return true;
      if (frame.key == "op" || frame.key == "name") return wrong(found, "a string");
      return wrong(found, frame.key == "inputs" ? "a list" : "an object");
    case In::node_attrs:
    case In::graph_attrs:
      if (known_key(frame) < 0) return true;
      return wrong(found, frame.in == In::node_attrs ? "a string" : "a list of tag and values");
    case In::graph_attr:
      if (frame.count == 1) return wrong(found, "a tag");
      if (known_key(frames_[frames_.size() - 2]) < 0) return true;
      return wrong(found, "a list");
    default:
      return wrong(found, expected_in(frame.in));
  }
}

}  // namespace gantry::graph
