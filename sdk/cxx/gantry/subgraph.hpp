// SPDX-License-Identifier: Apache-2.0
//
// gantry/subgraph.hpp - a sub-graph of operators that a compiler left to another library. Every
// Subgraph is valid: all indices are in range, and no node reads a later one.
//
//     node 0 "x" (input)               -> entry 0, argument 0
//     node 1 "main_0_const_0" (const)  -> entry 1, constant 0
//     node 2 "nn.dense" (kernel)       -> entry 2, reads entries 0 and 1; argument 1, the output
//
// An entry is one output of one node.
#pragma once

#include <gantry/tensor_type.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class SubgraphNodeKind : std::uint8_t {
  // arguments of the call
  input,
  // a tensor that the artifact contains
  constant,
  // a call of an operator
  kernel,
};

// One attribute of an operator. Compilers write all values as texts.
struct SubgraphAttribute {
  std::string name;
  std::vector<std::string> values;
};

struct SubgraphNode {
  SubgraphNodeKind kind = SubgraphNodeKind::input;
  // of the operator, for kernels: "nn.conv2d", or that of a fusion, "dnnl.conv2d_bias_relu"
  std::string name;
  // offset of the node, for errors
  std::uint64_t at = 0;
  std::uint32_t first_entry = 0;
  std::uint32_t output_count = 0;
  // entry indices
  std::vector<std::uint32_t> inputs;
  // without types and counts
  std::vector<SubgraphAttribute> attributes;

  // Returns the values of an attribute, or NULL.
  const std::vector<std::string>* find(std::string_view attribute) const {
    const auto found = std::ranges::find(attributes, attribute, &SubgraphAttribute::name);
    return found == attributes.end() ? nullptr : &found->values;
  }
};

struct Subgraph {
  std::vector<SubgraphNode> nodes;
  // An extent of -1 is known when the function is called.
  std::vector<TensorType> entries;
  // Entry indices. The arguments of a call are the inputs, then the outputs.
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> outputs;
  // Entry indices, in the order in which the constants are passed.
  std::vector<std::uint32_t> constants;
};

// The payload of a module whose code is a sub-graph.
//
//   str symbol ; str graph_json ; vec<str> constants
struct SubgraphPayload {
  // name of the function
  std::string_view symbol;
  std::string_view graph_json;
  // offset of graph_json, for errors
  std::uint64_t graph_at = 0;
  // names of the constants, in the order in which they are passed
  std::vector<std::string_view> constants;
};

}  // namespace gantry
