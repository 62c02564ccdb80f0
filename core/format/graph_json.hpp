// SPDX-License-Identifier: Apache-2.0
//
// A graph of operators, as compilers write it in JSON. It is safe to walk: every index is in range,
// every list has the length that it must have, and no node reads a later one.
//
//     node 0 "x" (input)     -> entry 0
//     node 1 "p0" (input)    -> entry 1
//     node 2 "dense" (call)  -> entry 2, reads entries 0 and 1
//     node 3 "reshape" (nop) -> entry 3, the storage of entry 2 with another shape
//
// An entry is one output of one node. Numbers of nodes and numbers of entries differ from the first
// node with two outputs on.
#pragma once

#include <gantry/dtype_text.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct GraphEntry {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // of a compact tensor
  std::uint64_t bytes = 0;
  // entries with the same one share memory; -1: shares with none
  std::int64_t storage_id = 0;
  // the artifact's number of a device type; -1: not given
  std::int64_t device_number = -1;
  // memory scope, empty: global
  std::string scope;
};

inline std::string type_text(const GraphEntry& entry) {
  return type_text(entry.dtype, entry.shape);
}

enum class GraphNodeKind : std::uint8_t {
  // a value from outside: an input or a parameter
  input,
  // a function of the library
  call,
  // a reshape: the output is the input's memory
  nop,
  // from one device to another
  copy,
};

struct GraphNode {
  GraphNodeKind kind = GraphNodeKind::input;
  // its function wants every argument with rank 1
  bool flatten = false;
  std::uint32_t first_entry = 0;
  std::uint32_t output_count = 0;
  std::string name;
  // of a call
  std::string function;
  // entries
  std::vector<std::uint32_t> inputs;
};

struct GraphOutput {
  std::uint32_t node = 0;
  // which of the node's outputs
  std::uint32_t index = 0;
  std::uint32_t entry = 0;
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<GraphEntry> entries;
  // nodes, in input order: parameters too
  std::vector<std::uint32_t> inputs;
  // in output order
  std::vector<GraphOutput> heads;
  // index into inputs; the last of equal names
  std::map<std::string, std::uint32_t, std::less<>> input_by_name;

  const GraphNode& input(std::uint32_t index) const { return nodes[inputs[index]]; }
  std::uint32_t input_entry(std::uint32_t index) const { return input(index).first_entry; }
};

// Reads a graph.
//
// text     [in]   JSON; the result does not refer to it
// offset   [in]   of its first byte, from which the offsets of errors count
// returns  MALFORMED    the text is not such a graph: the message names the node or attribute
//          UNSUPPORTED  an operator that is neither "null" nor "tvm_op"; a dtype of the compiler's
//                       user
// costs    O(n log n) of the text; memory a small multiple of it
Result<Graph> read_graph_json(std::string_view text, std::uint64_t offset);

}  // namespace gantry
