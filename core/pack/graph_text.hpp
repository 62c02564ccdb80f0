// SPDX-License-Identifier: Apache-2.0
//
// A graph as people write it, to the JSON that graph executors read.
//
//     inputs x; operators: dense(x, w0, b0) -> hidden, softmax(hidden) -> y; outputs y
//     -> nodes x, w0, b0, hidden, y   arg_nodes 0 1 2   heads [4, 0]   storage_id 0 1 2 3 4
#pragma once

#include "core/pack/tensor_type.hpp"

#include <span>
#include <string>

namespace gantry {

struct GraphTensor {
  std::string name;
  TensorType type;
};

// A call of a function in the host code, with the tensors in this order: all inputs, all outputs.
struct GraphOperator {
  std::string function;
  // names of inputs, parameters or outputs of earlier operators
  std::vector<std::string> inputs;
  // at least one; the node is called as the first
  std::vector<GraphTensor> outputs;
};

struct GraphDescription {
  std::vector<GraphTensor> inputs;
  // in the order in which they run
  std::vector<GraphOperator> operators;
  // names of any tensors
  std::vector<std::string> outputs;
};

// parameters  [in]  arguments that come with the artifact; each stands in the graph, used or not
// returns     invalid where a name is taken twice or not known, an operator has no output or the function name
//             "__nop" (which moves nothing: its output would have to share its input's memory), or nothing comes out
// source      apache/tvm src/relay/backend/graph_executor_codegen.cc (v0.8 to v0.19), the writer's order of keys
Result<std::string> write_graph_json(const GraphDescription& graph,
                                     std::span<const GraphTensor> parameters);

}  // namespace gantry
