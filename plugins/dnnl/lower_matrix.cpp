// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: dense layers and batches of matrices.
#include "fusion.hpp"
#include "layout.hpp"

namespace gantry::dnnl_plugin {
namespace {

// Returns the weights {units, inputs}, which packed ones have in blocks: "NC16n".
Result<View> read_weights(const Operator& op, std::int64_t units, std::int64_t inputs) {
  GANTRY_TRY(const View weight, op.input(1));
  if (!op.attributes.has("weight_layout")) return weight;
  GANTRY_TRY(const std::string_view text, op.attributes.text("weight_layout"));
  GANTRY_TRY(const Layout layout, parse_layout(op, "weight_layout", text, "NC"));
  GANTRY_TRY(const View ordered, in_order(op, weight, layout, "NC"));
  return layout.blocks.empty() ? ordered : cropped(ordered, {units, inputs});
}

}  // namespace

Status lower_dense(const Operator& op) {
  Builder& builder = op.builder;
  GANTRY_TRY(const View input, op.input(0));
  const Dims in = input.desc.dims(), out = op.output_dims();
  if (in.size() < 2 || out.size() != in.size()) {
    return op.refuse(": data of shape ", numbers_text(in), " give ", numbers_text(out),
                     ", expected two or more dimensions and an output [..., units]");
  }
  GANTRY_TRY(const View weight, read_weights(op, out.back(), in.back()));
  const Dims units = weight.desc.dims();
  if (units.size() != 2) {
    return op.refuse(": weights have shape ", numbers_text(units), ", expected [units, inputs]");
  }
  // The dimensions before the last one are rows.
  const std::int64_t rows = element_count({in.begin(), in.end() - 1});
  GANTRY_TRY(const View data, builder.reshaped(input, {rows, in.back()}));
  GANTRY_TRY(const Fusion fusion, read_fusion(op, units[0]));
  GANTRY_TRY(const auto type, op.output_type());
  const ::dnnl::inner_product_forward::desc desc(::dnnl::prop_kind::forward_inference, any_of(data),
                                                 any_of(weight), any_of(fusion.bias),
                                                 any_desc({rows, out.back()}, type));
  const ::dnnl::inner_product_forward::primitive_desc primitive(desc, fusion.attributes,
                                                                builder.engine());
  GANTRY_TRY(const View src, builder.in_layout(data, primitive.src_desc()));
  GANTRY_TRY(const View weights, builder.in_layout(weight, primitive.weights_desc()));
  View bias = fusion.bias;
  if (bias.exists()) {
    GANTRY_TRY(bias, builder.in_layout(bias, primitive.bias_desc()));
  }
  const View output = builder.temporary(primitive.dst_desc());
  if (fusion.sum.exists()) {
    GANTRY_TRY(const View sum, builder.reshaped(fusion.sum, {rows, out.back()}));
    GANTRY_CHECK(builder.copy(sum, output));
  }
  const Use uses[] = {{DNNL_ARG_SRC, src},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_BIAS, bias},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::inner_product_forward(primitive), uses);
  GANTRY_TRY(View result, builder.reshaped(output, out));
  return op.set_output(std::move(result));
}

Status lower_batch_matmul(const Operator& op) {
  Builder& builder = op.builder;
  View sides[2];
  const std::string_view names[] = {"transpose_a", "transpose_b"};
  for (std::size_t i = 0; i < 2; ++i) {
    GANTRY_TRY(sides[i], op.input(i));
    // An exporter without the attributes multiplies by the transposed second matrix.
    GANTRY_TRY(const bool is_transposed, op.attributes.truth(names[i], i == 1));
    const std::size_t rank = sides[i].desc.dims().size();
    if (rank < 2 || rank != op.output_dims().size()) {
      return op.refuse(": input ", i, " has shape ", numbers_text(sides[i].desc.dims()),
                       ", expected ", op.output_dims().size(), " dimensions, as the output");
    }
    if (!is_transposed) continue;
    std::vector<int> axes(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) axes[axis] = static_cast<int>(axis);
    std::swap(axes[rank - 1], axes[rank - 2]);
    sides[i].desc = sides[i].desc.permute_axes(axes);
  }
  GANTRY_TRY(const auto type, op.output_type());
  const Dims out = op.output_dims();
  const ::dnnl::matmul::desc desc(any_of(sides[0]), any_of(sides[1]), any_desc(out, type));
  const ::dnnl::matmul::primitive_desc primitive(desc, new_attributes(), builder.engine());
  GANTRY_TRY(const View src, builder.in_layout(sides[0], primitive.src_desc()));
  GANTRY_TRY(const View weights, builder.in_layout(sides[1], primitive.weights_desc()));
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC, src},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::matmul(primitive), uses);
  return op.set_output(output);
}

}  // namespace gantry::dnnl_plugin
