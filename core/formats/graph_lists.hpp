// SPDX-License-Identifier: Apache-2.0
//
// Reads the lists of a graph's JSON text and checks that every value has the kind that the format
// defines. graph_json.cpp checks the lists against each other.
//
//     {"nodes": [{"op", "name", "inputs", "attrs"}], "arg_nodes": [], "heads": [],
//      "node_row_ptr": [], "attrs": {"dltype": ["list_str", []], "storage_id": ["list_int", []],
//                                    "shape": ["list_shape", []], ...},
//      "metadata": {"gantry_output_names": []}}
//
// Keys may be in any order. Other content of `metadata`, that of `control_deps`, and unknown
// attributes of the graph and its operators are ignored.
#pragma once

#include <gantry/json_tree.hpp>

#include <vector>

namespace gantry {

// Output `index` of node `node`.
struct GraphOutputRef {
  std::uint64_t node = 0;
  std::uint64_t index = 0;
};

template <class T>
struct GraphList {
  std::vector<T> items;
  // offset of the value; no_offset: the graph does not have the key
  std::uint64_t at = no_offset;

  bool exists() const { return at != no_offset; }
};

struct GraphNodeText {
  // offset of its '{'
  std::uint64_t at = 0;
  std::string_view op, name;
  GraphList<GraphOutputRef> inputs;
  // attributes of an operator
  std::string_view func_name, num_inputs, num_outputs, flatten_data;
};

struct GraphLists {
  GraphList<GraphNodeText> nodes;
  GraphList<std::uint64_t> arg_nodes;
  GraphList<std::uint64_t> node_row_ptr;
  GraphList<GraphOutputRef> heads;
  // one item for each output of each node
  GraphList<std::string_view> dltype;
  GraphList<std::int64_t> storage_id;
  GraphList<std::vector<std::int64_t>> shape;
  // optional
  GraphList<std::int64_t> device_index;
  GraphList<std::string_view> storage_scope;
  // optional, "gantry_devices": one item for each device
  GraphList<std::int64_t> devices;
  // optional, of `metadata`
  GraphList<std::string_view> output_names;
};

// returns  malformed if a key is missing, unknown or repeated, or a value has another kind; the
//          offset is that of the object or list that contains the error
// lifetime the tree must outlive the result
// costs    O(values of the tree)
// source   apache/tvm src/runtime/graph_executor/graph_executor.h (reader)
Result<GraphLists> read_graph_lists(const JsonTree& tree);

}  // namespace gantry
