// SPDX-License-Identifier: Apache-2.0
//
// The operators of the sub-graphs that exporters leave to cuBLAS and cuDNN. Each becomes calls of functions of this
// plugin, with tensors of the sub-graph as their arguments.
//
// source   apache/tvm python/tvm/relax/backend/cuda/cublas.py and cudnn.py (v0.16 to v0.27)
#pragma once

#include "function.hpp"
#include "session.hpp"

#include <gantry/subgraph_attributes.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace gantry::cuda_libraries {

// One call of an operator: tensors on one device.
struct OperatorCall {
  Services& services;
  const gantry_env* env;
  std::span<const gantry_tensor> inputs;
  const gantry_tensor& output;
};

// Begins a session for memory of a call. Functions that operators call have sessions of their own.
inline Result<Session> begin_session(Services& services, const gantry_env& env,
                                     gantry_device_id device) {
  GANTRY_TRY(const Driver* const driver, services.driver());
  return Session::begin(*driver, services.host, env, device);
}

// An operator whose attributes have been read.
class Operator {
 public:
  virtual ~Operator() = default;

  // Enqueues the operator in the call's stream.
  //
  // returns  INVALID      extents that do not fit together
  //          UNSUPPORTED  types, extents or a captured run that the library does not have
  //          others       codes of the libraries and of the driver
  // thread   any, in parallel
  virtual Status run(const OperatorCall& call) const = 0;
};

// What a composite's name has behind that of its first operator: "cublas.matmul_bias_relu".
struct Fusions {
  bool has_bias = false;
  // "relu", "gelu"; empty: none
  std::string_view activation;
};

struct OperatorRow {
  // type key of the module
  std::string_view key;
  std::string_view name;
  // what may follow, in this order, each behind '_' and each optional
  std::string_view fusions;
  // that are read; another one is refused, except those that say what types and shapes say
  std::string_view attributes;
  // without a bias
  std::size_t min_inputs, max_inputs;
  // node     [in]   borrowed, outlives the operator; has one output and as many inputs as the row has
  Result<std::unique_ptr<const Operator>> (*make)(const SubgraphNode& node, const Fusions& fusions);
};

// Rows of one subject each.
std::span<const OperatorRow> attention_operators();
std::span<const OperatorRow> convolution_operators();
std::span<const OperatorRow> product_operators();

// Finds a function of this plugin by its name, which it has.
const FunctionRow& function_named(std::string_view name);
Status call_function(const FunctionRow& function, const OperatorCall& call,
                     std::span<const gantry_value> args);

// Reads an operator of a sub-graph.
//
// node     [in]   borrowed, outlives the operator
// key      [in]   type key of the module
// returns  UNSUPPORTED  an operator, a fusion or an attribute that no row has (SUBGRAPH_OPERATOR)
//          MALFORMED    a number of inputs or outputs, or an attribute (SUBGRAPH)
Result<std::unique_ptr<const Operator>> read_operator(std::string_view key,
                                                      const SubgraphNode& node);

}  // namespace gantry::cuda_libraries
