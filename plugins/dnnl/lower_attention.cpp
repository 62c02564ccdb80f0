// SPDX-License-Identifier: Apache-2.0
//
// Attention over one tensor that has queries, keys and values: softmax(scale Q K^T) V.
#include "lowering.hpp"

#include <cmath>

namespace gantry::dnnl_plugin {
namespace {

// A part of the stacked tensor as {batches, heads of keys, heads of queries for each, positions, elements}.
struct Heads {
  Dims dims;
  Dims strides;
  std::int64_t first = 0;
};

// The extents of cuDNN's layouts. BS3NH: {batches, positions, all heads of Q, of K, of V};
// SBN3H: {positions, batches, heads, Q, K, V of the head}.
struct Stacked {
  std::int64_t batches = 0, positions = 0;
  std::int64_t heads = 0, kv_heads = 0, size = 0, value_size = 0;
  bool has_heads_outside = false;

  // part     [in]   0: Q, 1: K, 2: V
  Heads of(int part) const {
    const std::int64_t group = part == 0 ? heads / kv_heads : 1;
    const std::int64_t length = part == 2 ? value_size : size;
    const Dims dims = {batches, kv_heads, group, positions, length};
    if (has_heads_outside) {
      const std::int64_t head = 2 * size + value_size, row = heads * head;
      return {dims, {row, head, head, batches * row, 1}, part * size};
    }
    const std::int64_t keys = heads * size, values = keys + kv_heads * size;
    const std::int64_t row = values + kv_heads * value_size;
    const std::int64_t first = part == 0 ? 0 : part == 1 ? keys : values;
    return {dims, {positions * row, group * length, length, row, 1}, first};
  }
};

Result<Stacked> read_stacked(const Operator& op, const Dims& in) {
  Stacked read;
  const std::string_view names[] = {"num_heads", "num_kv_heads", "head_size", "head_size_v"};
  std::int64_t* const to[] = {&read.heads, &read.kv_heads, &read.size, &read.value_size};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    GANTRY_TRY(*to[i], op.attributes.integer(names[i]));
    // Sums of products of two of them fit.
    constexpr std::int64_t max = 1 << 20;
    if (*to[i] < 1 || *to[i] > max)
      return op.attributes.refuse(names[i], " is ", *to[i], ", range is 1 to ", max);
  }
  read.has_heads_outside = op.match.base.ends_with("SBN3H");
  const std::size_t rank = read.has_heads_outside ? 4 : 3;
  if (in.size() != rank) {
    return op.refuse(": input 0 has shape ", numbers_text(in), ", expected ", rank, " dimensions");
  }
  read.batches = in[read.has_heads_outside ? 1 : 0];
  read.positions = in[read.has_heads_outside ? 0 : 1];
  if (read.heads % read.kv_heads != 0 || (read.has_heads_outside && read.heads != read.kv_heads)) {
    return op.attributes.refuse("num_kv_heads", " is ", read.kv_heads, ", num_heads is ",
                                read.heads);
  }
  const bool fits =
      read.has_heads_outside
          ? in[2] == read.heads && in[3] == 2 * read.size + read.value_size
          : in[2] == read.heads * read.size + read.kv_heads * (read.size + read.value_size);
  if (fits) return read;
  return op.refuse(": input 0 has shape ", numbers_text(in), ", which ", read.heads, " heads of ",
                   read.size, " elements with ", read.kv_heads, " of keys and of values of ",
                   read.value_size, " do not fill");
}

View part_of(const View& whole, const Heads& heads) {
  View part = whole.with(Desc(heads.dims, whole.type(), heads.strides));
  part.offset +=
      static_cast<std::size_t>(heads.first) * ::dnnl::memory::data_type_size(whole.type());
  return part;
}

}  // namespace

// Input 1 is memory that cuDNN works in.
Status lower_attention(const Operator& op) {
  Builder& builder = op.builder;
  GANTRY_TRY(const View input, op.input(0));
  GANTRY_TRY(const Stacked stacked, read_stacked(op, input.dims()));
  float scale = 1 / std::sqrt(static_cast<float>(stacked.size));
  const auto* const given = op.node.find("scale");
  if (given != nullptr && (given->size() != 1 || !given->front().empty())) {
    GANTRY_TRY(scale, op.attributes.real("scale"));
  }
  GANTRY_TRY(const DataType type, op.output_type());
  GANTRY_TRY(const View whole, builder.plain(input));
  const View queries = part_of(whole, stacked.of(0)), values = part_of(whole, stacked.of(2));
  const View keys = part_of(whole, stacked.of(1));
  // Scores are float32, whose range does not end where that of float16 does.
  Dims scores = queries.dims();
  scores[4] = stacked.positions;
  if (!tensor_bytes(scores, dtypes::float32).ok())
    return op.refuse(": scores of shape ", numbers_text(scores), " are too large");
  ::dnnl::primitive_attr attributes = new_attributes();
  ::dnnl::post_ops post;
  append_eltwise(post, ::dnnl::algorithm::eltwise_linear, scale, 0);
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
