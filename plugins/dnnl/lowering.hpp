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
#include <string>
#include <string_view>
#include <vector>

namespace gantry::dnnl_plugin {

// Returns the row of each kernel of a graph, with which it agrees; empty ones for the other nodes.
//
// returns  see Program::build(); before a buffer is created, so that errors name operators
Result<std::vector<OperatorMatch>> read_operators(std::string_view type_key, const Subgraph& graph);

// graph     [in]  its extents are known; outlives the plan
// operators [in]  those of the graph
// constants [in]  tensors in the order of the graph's constants
// returns   see Program::build()
Result<Plan> lower_subgraph(const ::dnnl::engine& engine, const Subgraph& graph,
                            std::span<const OperatorMatch> operators,
                            std::span<const Value> constants);

// True if an extent is 0.
bool has_no_elements(const std::vector<std::int64_t>& shape);

// One operator while it is lowered.
struct Operator {
  Builder& builder;
  const Subgraph& graph;
  const SubgraphNode& node;
  const OperatorMatch& match;
  // Narrow floating-point types are computed in float32: oneDNN has no primitive for them.
  bool is_wide = false;
  // Can be lowered again, widened.
  bool can_widen = false;
  SubgraphAttributes attributes{node};

  std::size_t input_count() const { return node.inputs.size(); }
  // Returns input i. A part of a buffer is copied unless it is row-major: primitives take layouts with gaps less often, and give
  // them to their output.
  //
  // returns  MALFORMED    there are fewer inputs (SUBGRAPH)
  //          UNSUPPORTED  it is an output that its operator does not compute, or has no elements
  Result<View> input(std::size_t i) const;
  // The same for operators that only copy it, or choose its layout: a part is not copied.
  Result<View> input_or_part(std::size_t i) const;
  // The same, as float32 if it has a narrow floating-point type.
  Result<View> wide_input(std::size_t i) const;
  // Has the operator lowered again if it has narrow types: loops compute float32 only.
  void widen() const {
    if (can_widen && !is_wide) throw ::dnnl::error(dnnl_unimplemented, "narrow types");
  }
  // True if an input has no elements. Operators whose output has none are not lowered.
  bool is_empty(std::size_t i) const;
  // Returns the name in the table, without the prefixes of OpenCL ML.
  std::string_view name() const;
  // Returns the shape and the element type of output 0, and the element type of input i.
  Dims output_dims() const;
  Result<DataType> output_type() const;
  Result<DataType> input_type(std::size_t i) const;
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

Status lower_attention(const Operator& op);
Status lower_cast(const Operator& op);
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
Status lower_resize(const Operator& op);

// True if an operator of a row, by its name in the table, is always computed by a loop.
bool is_loop(Operation operation, std::string_view name);
// Returns how the operators of a row are computed, for the page: "primitive", "view", or names of
// operators by loops.
std::string how_of(const OperatorRow& row);

// Converts an axis of a tensor, which counts from the end if it is negative.
//
// returns  MALFORMED  it is out of range
Result<std::size_t> axis_of(const Operator& op, std::string_view attribute, std::size_t rank,
                            std::optional<std::int64_t> absent = {});

// Adds a function of each element.
Result<View> eltwise(Builder& builder, const View& input, ::dnnl::algorithm algorithm,
                     float alpha = 0, float beta = 0);

// Adds a function of two tensors of one rank, one of which may have extents of 1 where the other has more.
Result<View> binary(const Operator& op, View first, View second, ::dnnl::algorithm algorithm,
                    const Dims& out, DataType type);

// Adds a product of matrices; the last two dimensions are theirs. The others are equal, or 1.
//
// attributes [in]  of the primitive
// bias     [in]   empty: none
// out      [in]   extents of the product
Result<View> product(Builder& builder, const View& left, const View& right, const View& bias,
                     const ::dnnl::primitive_attr& attributes, const Dims& out, DataType type);

// Adds a softmax along an axis.
View softmax(Builder& builder, const View& input, std::size_t axis);

// Adds a batch normalization by constants; the channels are dimension 1.
//
// parameters [in]  scale, shift, mean, variance: float32, one number for each channel; scale and shift may be empty
View batch_norm(Builder& builder, const View& data, std::span<const View, 4> parameters,
                float epsilon);
// Returns input i, which has one number for each channel, as float32.
Result<View> channel_input(const Operator& op, std::size_t i, std::int64_t channels);

// The attributes of all primitives: their scratchpads are in the arena.
::dnnl::primitive_attr new_attributes();
// Returns a temporary for the scratchpad of a primitive; empty if it requires none.
template <class PrimitiveDesc>
View scratch_of(Builder& builder, const PrimitiveDesc& primitive) {
  const Desc desc = primitive.scratchpad_desc();
  return desc.is_zero() ? View{} : builder.temporary(desc);
}

}  // namespace gantry::dnnl_plugin
