// SPDX-License-Identifier: Apache-2.0
//
// Functions of one or two tensors, element by element.
#include "lowering.hpp"

#include <algorithm>

namespace gantry::dnnl_plugin {
namespace {

using Algorithm = ::dnnl::algorithm;

// alpha and beta: a number, or the attribute that has it.
struct Unary {
  std::string_view name;
  Algorithm algorithm;
  float alpha = 0;
  std::string_view alpha_attribute = {};
  std::string_view beta_attribute = {};
};
constexpr Unary unaries[] = {
    {"abs", Algorithm::eltwise_abs},
    {"clip", Algorithm::eltwise_clip, 0, "a_min", "a_max"},
    {"exp", Algorithm::eltwise_exp},
    {"log", Algorithm::eltwise_log},
    {"negative", Algorithm::eltwise_linear, -1},
    {"nn.leaky_relu", Algorithm::eltwise_relu, 0, "alpha"},
    {"nn.relu", Algorithm::eltwise_relu},
    {"round", Algorithm::eltwise_round},
    {"sigmoid", Algorithm::eltwise_logistic},
    {"sqrt", Algorithm::eltwise_sqrt},
    {"tanh", Algorithm::eltwise_tanh},
};

struct Binary {
  std::string_view name;
  Algorithm algorithm;
};
constexpr Binary binaries[] = {
    {"add", Algorithm::binary_add},      {"subtract", Algorithm::binary_sub},
    {"multiply", Algorithm::binary_mul}, {"divide", Algorithm::binary_div},
    {"maximum", Algorithm::binary_max},  {"minimum", Algorithm::binary_min},
};

// Adds dimensions of 1 in front, as the exporters' broadcasting does.
Result<View> of_rank(const Operator& op, const View& view, std::size_t rank) {
  Dims dims = view.dims();
  if (dims.size() > rank) {
    return op.refuse(": an input has shape ", numbers_text(dims), ", the output has ", rank,
                     " dimensions");
  }
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return op.builder.reshaped(view, dims);
}

Status add_binary(const Operator& op, View first, View second, Algorithm algorithm) {
  Builder& builder = op.builder;
  GANTRY_TRY(const auto type, op.output_type());
  const Dims out = op.output_dims();
  const bool commutes = algorithm != Algorithm::binary_sub && algorithm != Algorithm::binary_div;
  // oneDNN requires the first tensor to have the shape of the output.
  if (commutes && first.dims() != out && second.dims() == out) std::swap(first, second);
  if (first.dims() != out) {
    return op.refuse_support(": inputs of shapes ", numbers_text(first.dims()), " and ",
                             numbers_text(second.dims()), " give ", numbers_text(out),
                             ", supported are operators whose first input has the output's shape");
  }
  const auto primitive = describe<::dnnl::binary>(builder.engine(), new_attributes(), algorithm,
                                                  first.desc, second.desc, any_desc(out, type));
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC_0, first},
                      {DNNL_ARG_SRC_1, second},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::binary(primitive), uses);
  return op.set_output(output);
}

}  // namespace

Result<View> eltwise(Builder& builder, const View& input, Algorithm algorithm, float alpha,
                     float beta) {
  const auto primitive =
      describe_eltwise(builder.engine(), new_attributes(), algorithm, input.desc, alpha, beta);
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC, input},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::eltwise_forward(primitive), uses);
  return output;
}

Status lower_elementwise(const Operator& op) {
  const auto* const unary = std::ranges::find(unaries, op.match.base, &Unary::name);
  if (unary == std::end(unaries)) return bug("operator ", op.match.base, " has no algorithm");
  GANTRY_TRY(const View input, op.input(0));
  float alpha = unary->alpha, beta = 0;
  if (!unary->alpha_attribute.empty()) {
    GANTRY_TRY(alpha, op.attributes.real(unary->alpha_attribute));
  }
  if (!unary->beta_attribute.empty()) {
    GANTRY_TRY(beta, op.attributes.real(unary->beta_attribute));
  }
  GANTRY_TRY(View output, eltwise(op.builder, input, unary->algorithm, alpha, beta));
  return op.set_output(std::move(output));
}

Status lower_binary(const Operator& op) {
  const auto* const binary = std::ranges::find(binaries, op.match.base, &Binary::name);
  if (binary == std::end(binaries)) return bug("operator ", op.match.base, " has no algorithm");
  const std::size_t rank = op.output_dims().size();
  GANTRY_TRY(View first, op.input(0));
  GANTRY_TRY(View second, op.input(1));
  GANTRY_TRY(first, of_rank(op, first, rank));
  GANTRY_TRY(second, of_rank(op, second, rank));
  return add_binary(op, first, second, binary->algorithm);
}

Status lower_bias_add(const Operator& op) {
  GANTRY_TRY(const View data, op.input(0));
  GANTRY_TRY(View bias, op.input(1));
  const Dims out = op.output_dims();
  GANTRY_TRY(const std::size_t axis, axis_of(op, "axis", out.size(), 1));
  if (bias.dims() != Dims{out[axis]}) {
    return op.refuse(": bias has shape ", numbers_text(bias.dims()), ", expected [", out[axis],
                     "]");
  }
  Dims dims(out.size(), 1);
  dims[axis] = out[axis];
  GANTRY_TRY(bias, op.builder.reshaped(bias, dims));
  return add_binary(op, data, bias, Algorithm::binary_add);
}

}  // namespace gantry::dnnl_plugin
