// SPDX-License-Identifier: Apache-2.0
//
// Attention over one tensor that has queries, keys and values: softmax(scale Q K^T) V.
#include "lowering.hpp"

#include <gantry/stacked_attention.hpp>

namespace gantry::dnnl_plugin {
namespace {

View part_of(const View& whole, const StackedAttention::Part& from) {
  const Dims dims(from.dims.begin(), from.dims.end());
  const Dims strides(from.strides.begin(), from.strides.end());
  View part = whole.with(Desc(dims, whole.type(), strides));
  part.offset +=
      static_cast<std::size_t>(from.first) * ::dnnl::memory::data_type_size(whole.type());
  return part;
}

}  // namespace

// Input 1 is memory that cuDNN works in.
Status lower_attention(const Operator& op) {
  Builder& builder = op.builder;
  GANTRY_TRY(const View input, op.input(0));
  GANTRY_TRY(auto stacked, StackedAttention::read(op.node, op.match.base.ends_with("SBN3H")));
  GANTRY_CHECK(stacked.set_shape(op.node, input.dims()));
  GANTRY_TRY(const DataType type, op.output_type());
  GANTRY_TRY(const View whole, builder.plain(input));
  const View queries = part_of(whole, stacked.part(0)), values = part_of(whole, stacked.part(2));
  const View keys = part_of(whole, stacked.part(1));
  // Scores are float32, whose range does not end where that of float16 does.
  Dims scores = queries.dims();
  scores[4] = stacked.positions;
  if (!tensor_bytes(scores, dtypes::float32).ok())
    return op.refuse(": scores of shape ", numbers_text(scores), " are too large");
  ::dnnl::primitive_attr attributes = new_attributes();
  ::dnnl::post_ops post;
  append_eltwise(post, ::dnnl::algorithm::eltwise_linear, stacked.scale, 0);
  attributes.set_post_ops(post);
  GANTRY_TRY(const View products,
             product(builder, queries, keys.with(keys.desc.permute_axes({0, 1, 2, 4, 3})), {},
                     attributes, scores, DataType::f32));
  View weights = softmax(builder, products, 4);
  if (type != DataType::f32) {
    GANTRY_TRY(weights, builder.converted(weights, ElementType::float32, element_type_of(type)));
  }
  Dims sums = scores;
  sums[4] = stacked.value_size;
  GANTRY_TRY(View output, product(builder, weights, values, {}, new_attributes(), sums, type));
  // {batches, positions, heads, elements}, or positions first.
  output = output.with(output.desc.permute_axes(stacked.has_heads_outside
                                                    ? std::vector<int>{1, 2, 3, 0, 4}
                                                    : std::vector<int>{0, 2, 3, 1, 4}));
  GANTRY_TRY(output, builder.reshaped(output, op.output_dims()));
  return op.set_output(std::move(output));
}

}  // namespace gantry::dnnl_plugin
