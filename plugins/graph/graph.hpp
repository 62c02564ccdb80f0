// SPDX-License-Identifier: Apache-2.0
//
// A graph that is safe to walk: every index in range, every list as long as it must be, nodes in an order in which
// they can run.
//
//     node 0 "x" (input)     -> entry 0
//     node 1 "p0" (input)    -> entry 1
//     node 2 "dense" (call)  -> entry 2, reads entries 0 and 1
//     node 3 "reshape" (nop) -> entry 3, the storage of entry 2 with another shape
//
// An entry is one output of one node. Everything here counts entries, as the file does, and never takes a node's
// number for an entry's: the two differ as soon as a node has two outputs.
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::graph {

struct Entry {
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

enum class OpKind : std::uint8_t {
  // a value from outside: an input or a parameter
  input,
  // a function of the library
  call,
  // a reshape: the output is the input's memory
  nop,
  // from one device to another
  copy,
};

struct Node {
  OpKind kind = OpKind::input;
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

struct Output {
  std::uint32_t node = 0;
  // which of the node's outputs
  std::uint32_t index = 0;
  std::uint32_t entry = 0;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Entry> entries;
  // nodes, in input order: parameters too
  std::vector<std::uint32_t> inputs;
  // in output order
  std::vector<Output> heads;
  // index into inputs; the last of equal names
  std::map<std::string, std::uint32_t, std::less<>> input_by_name;

  const Node& input(std::uint32_t index) const { return nodes[inputs[index]]; }
  std::uint32_t input_entry(std::uint32_t index) const { return input(index).first_entry; }
};

// Reads and proves a graph.
//
// text     [in]   JSON; not kept
// at       [in]   offset of its first byte in the payload, for messages
// returns  MALFORMED    the text, a number out of range, a list of the wrong length; the message names node or attribute
//          UNSUPPORTED  an operator that is neither "null" nor "tvm_op"; a user's own dtype
// costs    O(n log n) of the text; memory a small multiple of it
Result<Graph> read_graph(std::string_view text, std::uint64_t at);

// "float32[1, 64]", for messages.
std::string describe(const Entry& entry);

}  // namespace gantry::graph
