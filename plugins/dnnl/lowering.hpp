// SPDX-License-Identifier: Apache-2.0
//
// Turns the operators of a sub-graph into primitives. Each lower_*() adds the steps of one operator;
// they throw dnnl::error, which lower_subgraph() converts.
#pragma once

#include "builder.hpp"
#include "operators.hpp"

#include <gantry/quoted.hpp>
#include <gantry/subgraph_attributes.hpp>

#include <span>
#include <string_view>

namespace gantry::dnnl_plugin {

// constants [in]  tensors in the order of the graph's constants
// returns   see Program::build()
Result<Plan> lower_subgraph(const ::dnnl::engine& engine, const SubgraphCode& code,
                            std::span<const Value> constants);

// One operator while it is lowered.
struct Operator {
  Builder& builder;
  const Subgraph& graph;
  const SubgraphNode& node;
  const OperatorMatch& match;
  SubgraphAttributes attributes{node};

  std::size_t input_count() const { return node.inputs.size(); }
  // Returns input i. A part of a buffer is copied unless it is row-major: primitives take layouts with gaps less often, and give
  // them to their output.
  //
  // returns  MALFORMED    there are fewer inputs (SUBGRAPH)
  //          UNSUPPORTED  it is an output that its operator does not compute
  Result<View> input(std::size_t i) const;
  // The same for operators that only copy it, or choose its layout: a part is not copied.
  Result<View> input_or_part(std::size_t i) const;
  // Returns the shape and the element type of output 0.
  Dims output_dims() const;
  Result<DataType> output_type() const;
  Status set_output(View view, std::uint32_t i = 0) const {
    return builder.set_entry(node.first_entry + i, std::move(view), node);
  }

  // returns  MALFORMED  reason SUBGRAPH; the text begins with the operator
  template <class... Parts>
  Failure refuse(const Parts&... parts) const {
    return malformed(node.at, "operator ", quoted(node.name), parts...).with_reason("SUBGRAPH");
  }
  // returns  UNSUPPORTED  reason SUBGRAPH_OPERATOR; the text begins with the operator
  template <class... Parts>
  Failure refuse_support(const Parts&... parts) const {
    return unsupported("operator ", quoted(node.name), parts...).with_reason("SUBGRAPH_OPERATOR");
  }
};

Status lower_convolution(const Operator& op);
Status lower_transposed_convolution(const Operator& op);
Status lower_dense(const Operator& op);
Status lower_batch_matmul(const Operator& op);
Status lower_matmul(const Operator& op);
Status lower_batch_norm(const Operator& op);
Status lower_layer_norm(const Operator& op);
Status lower_instance_norm(const Operator& op);
Status lower_softmax(const Operator& op);
Status lower_pooling(const Operator& op);
Status lower_global_pooling(const Operator& op);
Status lower_l2_pooling(const Operator& op);
Status lower_elementwise(const Operator& op);
Status lower_binary(const Operator& op);
Status lower_bias_add(const Operator& op);
Status lower_concatenate(const Operator& op);
Status lower_reshape(const Operator& op);
Status lower_transpose(const Operator& op);
Status lower_layout_transform(const Operator& op);
Status lower_pad(const Operator& op);
Status lower_slice(const Operator& op);
Status lower_split(const Operator& op);
Status lower_reduce(const Operator& op);

// Converts an axis of a tensor, which counts from the end if it is negative.
//
// returns  MALFORMED  it is out of range
Result<std::size_t> axis_of(const Operator& op, std::string_view attribute, std::size_t rank,
                            std::optional<std::int64_t> absent = {});

// Adds a function of each element.
Result<View> eltwise(Builder& builder, const View& input, ::dnnl::algorithm algorithm,
                     float alpha = 0, float beta = 0);

// The attributes of all primitives: their scratchpads are in the arena.
::dnnl::primitive_attr new_attributes();
// Returns a temporary for the scratchpad of a primitive; empty if it requires none.
template <class PrimitiveDesc>
View scratch_of(Builder& builder, const PrimitiveDesc& primitive) {
  const Desc desc = primitive.scratchpad_desc();
  return desc.is_zero() ? View{} : builder.temporary(desc);
}

}  // namespace gantry::dnnl_plugin
