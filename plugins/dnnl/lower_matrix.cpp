// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: dense layers and batches of matrices.
#include "fusion.hpp"
#include "layout.hpp"

#include <utility>
#include <vector>

namespace gantry::dnnl_plugin {
namespace {

// Returns the weights {units, inputs}, which packed ones have in blocks: "NC16n".
Result<View> read_weights(const Operator& op, std::int64_t units, std::int64_t inputs) {
  GANTRY_TRY(const View weight, op.input(1));
  if (!op.attributes.has("weight_layout")) return weight;
  GANTRY_TRY(const std::string_view text, op.attributes.text("weight_layout"));
  GANTRY_TRY(const Layout layout, parse_layout(op, "weight_layout", text, "NC"));
  return in_order(op, weight, layout, "NC", {units, inputs});
}

// Exchanges the last two axes.
View transposed(const View& view) {
  std::vector<int> axes(view.dims().size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return view.with(view.desc.permute_axes(axes));
}

// Without instructions for dot products of bytes, oneDNN adds pairs of 16-bit products and saturates
// the sums.
bool saturates_int8() {
  const auto isa = ::dnnl::get_effective_cpu_isa();
  return isa == ::dnnl::cpu_isa::sse41 || isa == ::dnnl::cpu_isa::avx ||
         isa == ::dnnl::cpu_isa::avx2 || isa == ::dnnl::cpu_isa::avx512_core;
}

// Appends a tensor to another along an axis. Both are row-major.
View joined(Builder& builder, const View& first, const View& second, int axis) {
  Dims dims = first.dims();
  dims[static_cast<std::size_t>(axis)] += second.dims()[static_cast<std::size_t>(axis)];
  const View output = builder.temporary(plain_desc(dims, first.type()));
  const auto primitive = describe_concat(builder.engine(), new_attributes(), output.desc, axis,
                                         {first.desc, second.desc});
  const Use uses[] = {{DNNL_ARG_MULTIPLE_SRC, first},
                      {DNNL_ARG_MULTIPLE_SRC + 1, second},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::concat(primitive), uses);
  return output;
}

// Replaces the product a x b of int8 by [a a] x [half; rest], where half + rest = b: no element of
// the second matrix is above 64, so no sum of two products saturates.
Status halve_factors(Builder& builder, View& left, View& right) {
  const auto rank = static_cast<int>(right.dims().size());
  GANTRY_TRY(const View a, builder.plain(left));
  GANTRY_TRY(const View b, builder.plain(right));
  GANTRY_TRY(const View half, eltwise(builder, b, ::dnnl::algorithm::eltwise_linear, 0.5f));
  const View rest = builder.temporary(b.desc);
  const auto primitive =
      describe<::dnnl::binary>(builder.engine(), new_attributes(), ::dnnl::algorithm::binary_sub,
                               b.desc, half.desc, rest.desc);
  const Use uses[] = {{DNNL_ARG_SRC_0, b},
                      {DNNL_ARG_SRC_1, half},
                      {DNNL_ARG_DST, rest},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::binary(primitive), uses);
  left = joined(builder, a, a, rank - 1);
  right = joined(builder, half, rest, rank - 2);
  return {};
}

// The last two dimensions are those of matrices.
//
// out      [in]   extents of the product
Result<View> add_matmul(const Operator& op, const View& left, const View& right,
                        const Fusion& fusion, const Dims& out) {
  Builder& builder = op.builder;
  GANTRY_TRY(const auto type, op.output_type());
  const auto primitive =
      describe<::dnnl::matmul>(builder.engine(), fusion.attributes, any_of(left), any_of(right),
                               any_of(fusion.bias), any_desc(out, type));
  GANTRY_TRY(const View src, builder.in_layout(left, primitive.src_desc()));
  GANTRY_TRY(const View weights, builder.in_layout(right, primitive.weights_desc()));
  View bias = fusion.bias;
  if (bias.exists()) {
    GANTRY_TRY(bias, builder.in_layout(bias, primitive.bias_desc()));
  }
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {
      {DNNL_ARG_SRC, src},    {DNNL_ARG_WEIGHTS, weights},
      {DNNL_ARG_BIAS, bias},  {scales_role, fusion.scales},
      {DNNL_ARG_DST, output}, {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::matmul(primitive), uses);
  return output;
}

}  // namespace

Status lower_dense(const Operator& op) {
  Builder& builder = op.builder;
  GANTRY_TRY(const View input, op.input(0));
  const Dims in = input.dims(), out = op.output_dims();
  if (in.size() < 2 || out.size() != in.size()) {
    return op.refuse(": data of shape ", numbers_text(in), " give ", numbers_text(out),
                     ", expected two or more dimensions and an output [..., units]");
  }
  GANTRY_TRY(const View weight, read_weights(op, out.back(), in.back()));
  const Dims units = weight.dims();
  if (units.size() != 2) {
    return op.refuse(": weights have shape ", numbers_text(units), ", expected [units, inputs]");
  }
  // The dimensions before the last one are rows.
  const std::int64_t rows = element_count({in.begin(), in.end() - 1});
  GANTRY_TRY(const View data, builder.reshaped(input, {rows, in.back()}));
  GANTRY_TRY(const Fusion fusion, read_fusion(op, {rows, units[0]}, 1));
  GANTRY_TRY(const auto type, op.output_type());
  const auto primitive = describe<::dnnl::inner_product_forward>(
      builder.engine(), fusion.attributes, ::dnnl::prop_kind::forward_inference, any_of(data),
      any_of(weight), any_of(fusion.bias), any_desc({rows, out.back()}, type));
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
  const Use uses[] = {
      {DNNL_ARG_SRC, src},    {DNNL_ARG_WEIGHTS, weights},
      {DNNL_ARG_BIAS, bias},  {scales_role, fusion.scales},
      {DNNL_ARG_DST, output}, {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::inner_product_forward(primitive), uses);
  GANTRY_TRY(View result, builder.reshaped(output, out));
  return op.set_output(std::move(result));
}

// An exporter without the attributes multiplies by the transposed second matrix.
Status lower_batch_matmul(const Operator& op) {
  View sides[2];
  const std::string_view names[] = {"transpose_a", "transpose_b"};
  for (std::size_t i = 0; i < 2; ++i) {
    GANTRY_TRY(sides[i], op.input(i));
    GANTRY_TRY(const bool is_transposed, op.attributes.truth(names[i], i == 1));
    const std::size_t rank = sides[i].dims().size();
    if (rank < 2 || rank != op.output_dims().size()) {
      return op.refuse(": input ", i, " has shape ", numbers_text(sides[i].dims()), ", expected ",
                       op.output_dims().size(), " dimensions, as the output");
    }
    if (is_transposed) sides[i] = transposed(sides[i]);
  }
  GANTRY_TRY(const View output, add_matmul(op, sides[0], sides[1], {}, op.output_dims()));
  return op.set_output(output);
}

Status lower_matmul(const Operator& op) {
  GANTRY_TRY(View left, op.input(0));
  GANTRY_TRY(View right, op.input(1));
  const Dims in = left.dims(), out = op.output_dims();
  const std::size_t rank = in.size(), right_rank = right.dims().size();
  if (rank < 2 || out.size() != rank || (right_rank != rank && right_rank != 2)) {
    return op.refuse_support(": inputs of shapes ", numbers_text(in), " and ",
                             numbers_text(right.dims()), " give ", numbers_text(out),
                             ", supported are [..., rows, inputs] with a second matrix of as many "
                             "dimensions, or of two");
  }
  if (op.match.base == "matmul_transposed") right = transposed(right);
  // One matrix for all batches: they are rows.
  Dims dims = out;
  if (right_rank < rank) {
    const std::int64_t rows = element_count({in.begin(), in.end() - 1});
    GANTRY_TRY(left, op.builder.reshaped(left, {rows, in.back()}));
    dims = {rows, out.back()};
  }
  GANTRY_TRY(Fusion fusion, read_fusion(op, dims, dims.size() - 1));
  if (fusion.bias.exists()) {
    Dims row(dims.size(), 1);
    row.back() = out.back();
    GANTRY_TRY(fusion.bias, op.builder.reshaped(fusion.bias, row));
  }
  if (right.type() == DataType::s8 && saturates_int8())
    GANTRY_CHECK(halve_factors(op.builder, left, right));
  GANTRY_TRY(View output, add_matmul(op, left, right, fusion, dims));
  GANTRY_TRY(output, op.builder.reshaped(output, out));
  return op.set_output(std::move(output));
}

}  // namespace gantry::dnnl_plugin
