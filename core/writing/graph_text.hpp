// SPDX-License-Identifier: Apache-2.0
//
// Converts the description of a graph in a recipe to the JSON that graph executors read.
//
//     inputs x; operators: dense(x, w0, b0) -> hidden, softmax(hidden) -> y; outputs y
//     -> nodes x, w0, b0, hidden, y   arg_nodes 0 1 2   heads [4, 0]   storage_id 0 1 2 3 4
#pragma once

#include "core/writing/tensor_type.hpp"

#include <span>
#include <string>

namespace gantry {

struct GraphTensor {
  std::string name;
  TensorType type;
};

// A call of a function of the CPU code. Its arguments are all inputs, then all outputs.
struct GraphOperator {
  std::string function;
  // names of inputs, parameters or outputs of earlier operators
  std::vector<std::string> inputs;
  // at least one; the name of the first is the name of the node
  std::vector<GraphTensor> outputs;
  // "digits.yaml:20:7: graph.operators[1]", for messages; may be empty
  std::string location;
};

struct GraphDescription {
  std::vector<GraphTensor> inputs;
  // in execution order
  std::vector<GraphOperator> operators;
  // names of any tensors
  std::vector<std::string> outputs;
  // DLPack's device types of which a run uses one, by default the first; empty: none is stated
  std::vector<std::int32_t> devices = {};
  // of the graph, for messages; may be empty
  std::string location = {};
};

// parameters  [in]  arguments that are packed into the artifact; each becomes a node, used or not
// returns     not_found for an undefined name; invalid if a name is defined twice, an operator has
//             no output or the function "__nop" (whose output must share the memory of its input,
//             which a description cannot express), or the graph has no outputs
// source      apache/tvm src/relay/backend/graph_executor_codegen.cc (v0.8 to v0.19), including the
//             order of keys
Result<std::string> write_graph_json(const GraphDescription& graph,
                                     std::span<const GraphTensor> parameters);

}  // namespace gantry
