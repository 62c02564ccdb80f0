// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: dense layers and batches of matrices.
#include "fusion.hpp"
#include "layout.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gantry::dnnl_plugin {
namespace {

// Returns a factor of a product. Sums without terms become those of one term, which is 0.
//
// axis     [in]   along which the product adds
Result<View> factor(const Operator& op, std::size_t i, std::size_t axis) {
  if (!op.is_empty(i)) return op.input(i);
  Dims dims = op.graph.entries[op.node.inputs[i]].shape;
  if (axis < dims.size() && dims[axis] == 0) dims[axis] = 1;
  // Another extent is 0, but the output has elements.
  if (has_no_elements(dims)) return op.input(i);
  GANTRY_TRY(const DataType type, op.input_type(i));
  return op.builder.zeroed(plain_desc(dims, type));
}

std::size_t rank_of(const Operator& op, std::size_t i) {
  return i < op.input_count() ? op.graph.entries[op.node.inputs[i]].shape.size() : 0;
}

// Returns the weights {units, inputs}, which packed ones have in blocks: "NC16n".
Result<View> read_weights(const Operator& op, std::int64_t units, std::int64_t inputs) {
  if (!op.attributes.has("weight_layout")) return factor(op, 1, 1);
  GANTRY_TRY(const View weight, op.input(1));
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

// The dimensions of a factor, with dimensions of 1 in front.
Result<View> with_rank(const Operator& op, const View& view, std::size_t rank) {
  Dims dims = view.dims();
  dims.insert(dims.begin(), rank - std::min(dims.size(), rank), 1);
  return op.builder.reshaped(view, dims);
}

// Returns the extents of a product; empty if the factors do not fit together.
Dims product_dims(const Dims& left, const Dims& right) {
  const std::size_t rank = left.size();
  Dims out = left;
  out.back() = right.back();
  if (left.back() != right[rank - 2]) return {};
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (left[i] != right[i] && left[i] != 1 && right[i] != 1) return {};
    out[i] = left[i] == 1 ? right[i] : left[i];
  }
  return out;
}

Dims without_ones(Dims dims) {
  std::erase(dims, 1);
  return dims;
}

// Multiplies matrices, or vectors, of any number of dimensions, as NumPy does, and what the operator's name adds.
//
// right    [in]   not transposed
Status multiply(const Operator& op, View left, View right) {
  const Dims in = left.dims(), other = right.dims();
  if (in.size() == 1) {
    GANTRY_TRY(left, op.builder.reshaped(left, {1, in[0]}));
  }
  if (other.size() == 1) {
    GANTRY_TRY(right, op.builder.reshaped(right, {other[0], 1}));
  }
  const std::size_t rank = std::max(left.dims().size(), right.dims().size());
  if (left.dims().size() < rank) {
    GANTRY_TRY(left, with_rank(op, left, rank));
  }
  if (right.dims().size() < rank) {
    // A permuted matrix keeps its layout.
    const Dims dims = right.dims();
    if (element_count({dims.begin(), dims.end() - 2}) != 1 || dims.size() != 2) {
      GANTRY_TRY(right, with_rank(op, right, rank));
    }
  }
  Dims all = right.dims();
  all.insert(all.begin(), rank - all.size(), 1);
  Dims dims = product_dims(left.dims(), all);
  const Dims out = op.output_dims();
  if (dims.empty() || without_ones(dims) != without_ones(out)) {
    return op.refuse_support(": inputs of shapes ", numbers_text(in), " and ", numbers_text(other),
                             " give ", numbers_text(out),
                             ", supported are matrices of as many batches, or of one");
  }
  // One matrix for all batches: they are rows.
  if (element_count({all.begin(), all.end() - 2}) == 1) {
    const Dims whole = left.dims();
    const std::int64_t rows = element_count({whole.begin(), whole.end() - 1});
    GANTRY_TRY(left, op.builder.reshaped(left, {rows, whole.back()}));
    if (right.dims().size() > 2) {
      GANTRY_TRY(right, op.builder.reshaped(right, {all[rank - 2], all[rank - 1]}));
    }
    dims = {rows, all.back()};
  }
  GANTRY_TRY(Fusion fusion, read_fusion(op, dims, dims.size() - 1));
  if (fusion.bias.exists()) {
    Dims row(dims.size(), 1);
    row.back() = dims.back();
    GANTRY_TRY(fusion.bias, op.builder.reshaped(fusion.bias, row));
  }
  if (right.type() == DataType::s8 && saturates_int8())
    GANTRY_CHECK(halve_factors(op.builder, left, right));
  GANTRY_TRY(const auto type, op.output_type());
  GANTRY_TRY(View output,
             product(op.builder, left, right, fusion.bias, fusion.attributes, dims, type));
  for (const View& scale : fusion.factors) {
    GANTRY_TRY(const View one, op.builder.reshaped(scale, Dims(dims.size(), 1)));
    GANTRY_TRY(output, binary(op, output, one, ::dnnl::algorithm::binary_mul, dims, type));
  }
  GANTRY_TRY(output, op.builder.reshaped(output, out));
  return op.set_output(std::move(output));
}

}  // namespace

Result<View> product(Builder& builder, const View& left, const View& right, const View& bias,
                     const ::dnnl::primitive_attr& attributes, const Dims& out, DataType type) {
  const auto primitive = describe<::dnnl::matmul>(builder.engine(), attributes, any_of(left),
                                                  any_of(right), any_of(bias), any_desc(out, type));
  GANTRY_TRY(const View src, builder.in_layout(left, primitive.src_desc()));
  GANTRY_TRY(const View weights, builder.in_layout(right, primitive.weights_desc()));
  View added = bias;
  if (bias.exists()) {
    GANTRY_TRY(added, builder.in_layout(bias, primitive.bias_desc()));
  }
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC, src},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_BIAS, added},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::matmul(primitive), uses);
  return output;
}

Status lower_dense(const Operator& op) {
  Builder& builder = op.builder;
  GANTRY_TRY(const View input, factor(op, 0, rank_of(op, 0) - 1));
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

// Relay's exporters without the attributes multiply by the transposed second matrix; Relax's has none.
Status lower_batch_matmul(const Operator& op) {
  View sides[2];
  const std::string_view names[] = {"transpose_a", "transpose_b"};
  const bool is_relax = op.match.row->key == "tensorrt" && !op.attributes.has(names[1]);
  for (std::size_t i = 0; i < 2; ++i) {
    GANTRY_TRY(const bool is_transposed, op.attributes.truth(names[i], i == 1 && !is_relax));
    const std::size_t rank = rank_of(op, i);
    // The axis of the sum is the last one of the first matrix, the last but one of the second.
    const std::size_t axis = rank - ((i == 0) == is_transposed && rank > 1 ? 2 : 1);
    GANTRY_TRY(sides[i], factor(op, i, axis));
    if (is_transposed && rank < 2) {
      return op.refuse(": input ", i, " has shape ", numbers_text(sides[i].dims()),
                       ", expected two or more dimensions");
    }
    if (is_transposed) sides[i] = transposed(sides[i]);
  }
  return multiply(op, sides[0], sides[1]);
}

Status lower_matmul(const Operator& op) {
  const bool is_transposed = op.match.base == "matmul_transposed";
  const std::size_t rank = rank_of(op, 1);
  GANTRY_TRY(const View left, factor(op, 0, rank_of(op, 0) - 1));
  GANTRY_TRY(View right, factor(op, 1, rank - (is_transposed || rank < 2 ? 1 : 2)));
  if (is_transposed && rank < 2) {
    return op.refuse(": input 1 has shape ", numbers_text(right.dims()),
                     ", expected two or more dimensions");
  }
  if (is_transposed) right = transposed(right);
  // Each factor is within the range of the type, not the product before it is scaled.
  if (!op.match.fusions.empty() && op.match.fusions.front() == "multiply") op.widen();
  return multiply(op, left, right);
}

}  // namespace gantry::dnnl_plugin
