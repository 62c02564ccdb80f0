// SPDX-License-Identifier: Apache-2.0
//
// The graph's text as plain lists: what it says, not yet whether it makes sense (graph.hpp decides that).
//
//     {"nodes": [{"op", "name", "inputs", "attrs"}], "arg_nodes": [], "heads": [], "node_row_ptr": [],
//      "attrs": {"dltype": ["list_str", []], "storage_id": ["list_int", []], "shape": ["list_shape", []], ...}}
//
// Keys come in any order. `metadata`, `control_deps`, unknown graph attributes and unknown operator attributes
// are stepped over; any other unknown key, a key given twice, a value of another kind, a negative or fractional
// number where a count belongs, and nesting past 32 are refused.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::graph {

// One output of one node.
struct JsonEntry {
  std::uint64_t node = 0;
  std::uint64_t index = 0;
};

template <class T>
struct JsonList {
  std::vector<T> items;
  // of its '['; no_offset: the graph has no such key
  std::uint64_t at = no_offset;
  bool there() const { return at != no_offset; }
};

struct JsonNode {
  // of its '{'
  std::uint64_t at = 0;
  std::string op, name;
  JsonList<JsonEntry> inputs;
  // Of a call: texts, as they stand in the file.
  std::optional<std::string> func_name, num_inputs, num_outputs, flatten_data;
};

struct JsonGraph {
  // of its '{'
  std::uint64_t at = 0;
  JsonList<JsonNode> nodes;
  JsonList<std::uint64_t> arg_nodes;
  JsonList<std::uint64_t> node_row_ptr;
  JsonList<JsonEntry> heads;
  // One item for each entry, not for each node.
  JsonList<std::string> dltype;
  JsonList<std::int64_t> storage_id;
  JsonList<std::vector<std::int64_t>> shape;
  // optional
  JsonList<std::int64_t> device_index;
  // optional
  JsonList<std::string> storage_scope;
};

// Reads the text.
//
// text     [in]   UTF-8; not kept
// at       [in]   offset of its first byte in the payload, for messages
// returns  MALFORMED  the offset is that of the innermost bracket that is open, or of the character that is no JSON
// costs    O(text), no recursion
// source   apache/tvm src/runtime/graph_executor/graph_executor.h (reader)
Result<JsonGraph> read_graph_json(std::string_view text, std::uint64_t at);

}  // namespace gantry::graph
