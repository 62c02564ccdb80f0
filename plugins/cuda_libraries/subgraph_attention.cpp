// SPDX-License-Identifier: Apache-2.0
//
// `cudnn.attention.*`: a product of cuBLAS, a softmax of cuDNN and another product, for the heads of each batch.
#include "subgraph_operator.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/stacked_attention.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace gantry::cuda_libraries {
namespace {

// A batch of matrices in a tensor, in elements.
struct Block {
  std::int64_t first;
  std::array<std::int64_t, 3> shape, strides;
};

gantry_tensor tensor_of(const gantry_tensor& whole, Block& block) {
  gantry_tensor part = whole;
  part.ndim = 3;
  part.shape = block.shape.data();
  part.strides = block.strides.data();
  part.byte_offset += static_cast<std::uint64_t>(block.first) * element_bytes(whole.dtype);
  return part;
}

class Attention final : public Operator {
 public:
  Attention(const SubgraphNode& node, const StackedAttention& read) : node_(node), read_(read) {}

  // Heads of queries that share a head of keys are one batch of products with it.
  Status run(const OperatorCall& call) const override {
    const gantry_tensor& whole = call.inputs[0];
    StackedAttention stacked = read_;
    if (const Status fits = stacked.set_shape(node_, shape_of(whole)); !fits.ok())
      return invalid(fits.error().message).with_reason("ARGUMENT");
    const std::int64_t outside = stacked.has_heads_outside ? stacked.positions : stacked.batches;
    const std::int64_t inside = stacked.has_heads_outside ? stacked.batches : stacked.positions;
    const std::int64_t row = stacked.heads * stacked.value_size;
    const std::array<std::int64_t, 4> by_head{outside, inside, stacked.heads, stacked.value_size};
    const std::array<std::int64_t, 3> joined{outside, inside, row};
    const auto output_shape = shape_of(call.output);
    if (!std::ranges::equal(output_shape, by_head) && !std::ranges::equal(output_shape, joined)) {
      return invalid("attention of ", tensor_text(whole), " gives ", numbers_text(by_head),
                     ", its output is ", tensor_text(call.output))
          .with_reason("ARGUMENT");
    }
    if (is_empty(call.output)) return {};
    for (const gantry_tensor* const tensor : {&whole, &call.output})
      GANTRY_CHECK(tensor_bytes(shape_of(*tensor), tensor->dtype));
    GANTRY_TRY(const Session session, begin_session(call.services, *call.env, whole.device));
    if (session.is_captured()) {
      return unsupported(
                 "attention needs memory for its scores, which a captured run does not have")
          .with_reason("CAPTURE");
    }
    const bool shares_keys = stacked.heads != stacked.kv_heads;
    // Heads of one product, and products of one batch.
    const std::int64_t heads = shares_keys ? stacked.heads / stacked.kv_heads : stacked.heads;
    const std::int64_t count = shares_keys ? stacked.kv_heads : 1;
    const std::array<std::int64_t, 3> scores_shape{heads, stacked.positions, stacked.positions};
    GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(scores_shape, whole.dtype));
    GANTRY_TRY(const Session::Memory first, session.allocate(bytes));
    GANTRY_TRY(const Session::Memory second, session.allocate(bytes));
    gantry_tensor scores = compact_tensor(whole.dtype, scores_shape, whole.device, first.data());
    gantry_tensor weights = compact_tensor(whole.dtype, scores_shape, whole.device, second.data());

    const StackedAttention::Part parts[] = {stacked.part(0), stacked.part(1), stacked.part(2)};
    const std::int64_t position_step = stacked.has_heads_outside ? stacked.batches * row : row;
    const std::int64_t batch_step = stacked.has_heads_outside ? row : stacked.positions * row;
    for (std::int64_t batch = 0; batch < stacked.batches; ++batch) {
      GANTRY_CHECK(call.services.host.check_task(call.env));
      for (std::int64_t i = 0; i < count; ++i) {
        const auto block_of = [&](int which) {
          const StackedAttention::Part& part = parts[which];
          // Of heads that share their keys, those of queries; else each with its own.
          const std::size_t head_axis = shares_keys ? 2 : 1;
          const bool is_shared = shares_keys && which != 0;
          return Block{
              part.first + batch * part.strides[0] + (shares_keys ? i * part.strides[1] : 0),
              {is_shared ? 1 : heads, stacked.positions, part.dims[4]},
              {is_shared ? 0 : part.strides[head_axis], part.strides[3], 1}};
        };
        Block blocks[] = {block_of(0), block_of(1), block_of(2)};
        Block result{batch * batch_step + i * heads * stacked.value_size,
                     {heads, stacked.positions, stacked.value_size},
                     {stacked.value_size, position_step, 1}};
        gantry_tensor queries = tensor_of(whole, blocks[0]), keys = tensor_of(whole, blocks[1]),
                      values = tensor_of(whole, blocks[2]), output = tensor_of(call.output, result);
        GANTRY_CHECK(multiply(call, queries, keys, scores, true, read_.scale));
        const std::array<gantry_value, 3> softmax{tensor_ref_value(&scores),
                                                  tensor_ref_value(&weights), int_value(2)};
        GANTRY_CHECK(call_function(softmax_, call, softmax));
        GANTRY_CHECK(multiply(call, weights, values, output, false, 1));
      }
    }
    return {};
  }

 private:
  Status multiply(const OperatorCall& call, gantry_tensor& a, gantry_tensor& b, gantry_tensor& c,
                  bool is_transposed, float factor) const {
    const std::array<gantry_value, 6> args{tensor_ref_value(&a),
                                           tensor_ref_value(&b),
                                           tensor_ref_value(&c),
                                           int_value(0),
                                           int_value(is_transposed ? 1 : 0),
                                           float_value(static_cast<double>(factor))};
    return call_function(product_, call, args);
  }

  const SubgraphNode& node_;
  const StackedAttention read_;
  const FunctionRow& product_ = function_named("tvm.contrib.cublas.batch_matmul");
  const FunctionRow& softmax_ = function_named("tvm.contrib.cudnn.softmax.forward");
};

template <bool has_heads_outside>
Result<std::unique_ptr<const Operator>> make_attention(const SubgraphNode& node, const Fusions&) {
  const SubgraphAttributes attributes(node);
  for (const std::string_view name : {"causal_mask", "window_size"}) {
    GANTRY_TRY(const std::string_view value, attributes.text(name, ""));
    if (!value.empty() && value != "none")
      return attributes.refuse_support(name, " is ", quoted(value), ", supported are none");
  }
  GANTRY_TRY(const std::string_view layout, attributes.text("layout", ""));
  const std::string_view of_name = has_heads_outside ? "SBN3H" : "BS3NH";
  if (!layout.empty() && layout != of_name)
    return attributes.refuse("layout", " is ", quoted(layout), ", the name has ", of_name);
  GANTRY_TRY(const StackedAttention read, StackedAttention::read(node, has_heads_outside));
  return std::make_unique<const Attention>(node, read);
}

constexpr std::string_view attention_attributes =
    "num_heads num_kv_heads head_size head_size_v layout scale causal_mask window_size";
// The second input is memory that cuDNN works in.
constexpr OperatorRow attention_rows[] = {
    {"cudnn_json", "cudnn.attention.BS3NH", "", attention_attributes, 1, 2, make_attention<false>},
    {"cudnn_json", "cudnn.attention.SBN3H", "", attention_attributes, 1, 2, make_attention<true>},
};

}  // namespace

std::span<const OperatorRow> attention_operators() { return attention_rows; }

}  // namespace gantry::cuda_libraries
