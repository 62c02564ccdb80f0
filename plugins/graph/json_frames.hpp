// SPDX-License-Identifier: Apache-2.0
//
// Where in the graph's text a reader stands: one frame for each bracket that is open.
//
//     {"nodes": [ {"inputs": [ [0, 1
//     graph      nodes node     entries entry          path: nodes[0].inputs[0][1]
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry::graph {

// What a bracket is.
enum class In : std::uint8_t {
  // object
  graph,
  // list of node
  nodes,
  // object
  node,
  // object
  node_attrs,
  // list of entry: a node's inputs, the graph's heads
  entries,
  // list of two or three numbers
  entry,
  // arg_nodes, node_row_ptr
  numbers,
  // object of graph_attr
  graph_attrs,
  // list of a tag and one of the next three
  graph_attr,
  texts,
  integers,
  // list of shape
  shapes,
  // list of numbers
  shape,
  // whatever the reader steps over
  skipped,
};

struct Frame {
  In in;
  // of the bracket
  std::uint64_t at;
  // items or keys begun
  std::uint64_t count = 0;
  // of an object: the one being read
  std::string key;
};

constexpr bool is_object(In in) {
  return in == In::graph || in == In::node || in == In::node_attrs || in == In::graph_attrs;
}

inline constexpr std::array<std::string_view, 6> graph_key_names = {
    "nodes", "arg_nodes", "node_row_ptr", "heads", "attrs", "metadata"};
inline constexpr std::array<std::string_view, 6> node_key_names = {"op",    "name", "inputs",
                                                                   "attrs", "attr", "control_deps"};
inline constexpr std::array<std::string_view, 4> node_attr_names = {"func_name", "num_inputs",
                                                                    "num_outputs", "flatten_data"};
inline constexpr std::array<std::string_view, 5> graph_attr_names = {
    "dltype", "storage_id", "shape", "device_index", "storage_scope"};

// Index of an object's current key in the list above that goes with it; -1: not there.
int known_key(const Frame& frame);

// "nodes[3].inputs[0][1]", escaped; "graph" for no frame.
std::string path_of(std::span<const Frame> frames);

// What a list wants its items to be, for messages.
std::string_view expected_in(In in);

}  // namespace gantry::graph
