// SPDX-License-Identifier: Apache-2.0
//
// A graph of operators, as compilers write it in JSON. Every Graph is valid: all indices are in
// range, all lists have the required length, and no node reads a later one.
//
//     node 0 "x" (input)     -> entry 0
//     node 1 "p0" (input)    -> entry 1
//     node 2 "dense" (call)  -> entry 2, reads entries 0 and 1
//     node 3 "reshape" (nop) -> entry 3, the storage of entry 2 with another shape
//
// An entry is one output of one node. After a node with two outputs, node and entry indices differ.
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
  // size as a compact tensor
  std::uint64_t bytes = 0;
  // entries with the same id share memory; -1: not shared
  std::int64_t storage_id = 0;
  // device type in the artifact's numbering; -1: absent
  std::int64_t device_number = -1;
  // memory scope; empty: global
  std::string scope;
};

inline std::string type_text(const GraphEntry& entry) {
  return type_text(entry.dtype, entry.shape);
}

enum class GraphNodeKind : std::uint8_t {
  // an input or a parameter
  input,
  // a call of a function of the library
  call,
  // a reshape: the output shares the input's memory
  nop,
  // a copy between devices
  copy,
};

struct GraphNode {
  GraphNodeKind kind = GraphNodeKind::input;
  // the function requires arguments of rank 1
  bool flatten = false;
  std::uint32_t first_entry = 0;
  std::uint32_t output_count = 0;
  std::string name;
  // name of the function, for calls
  std::string function;
  // entry indices
  std::vector<std::uint32_t> inputs;
};

struct GraphOutput {
  std::uint32_t node = 0;
  // index of the output of the node
  std::uint32_t index = 0;
  std::uint32_t entry = 0;
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<GraphEntry> entries;
  // node indices of inputs and parameters, in input order
  std::vector<std::uint32_t> inputs;
  // in output order
  std::vector<GraphOutput> heads;
  // one for each head, each once; empty: the graph does not name its outputs
  std::vector<std::string> output_names;
  // Device types in the artifact's numbering, each once: alternatives, of which a run uses one, by
  // default the first. Empty: the graph states none.
  std::vector<std::int32_t> devices;
  // index into `inputs`; the last one of equal names
  std::map<std::string, std::uint32_t, std::less<>> input_by_name;

  const GraphNode& input(std::uint32_t index) const { return nodes[inputs[index]]; }
  std::uint32_t input_entry(std::uint32_t index) const { return input(index).first_entry; }
};

// Reads a graph.
//
// text     [in]   JSON; the result does not refer to it
// offset   [in]   offset of the text, which is added to the offsets of errors
// returns  malformed    the text is not a valid graph; the error names the node or attribute
//          unsupported  an operator that is neither "null" nor "tvm_op", or a custom dtype
// costs    O(n log n) for n bytes of text; memory a small multiple of n
Result<Graph> read_graph_json(std::string_view text, std::uint64_t offset);

}  // namespace gantry
