// SPDX-License-Identifier: Apache-2.0
//
// Functions of one or two tensors, element by element.
#include "lowering.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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
  float beta = 0;
};
constexpr Unary unaries[] = {
    {"abs", Algorithm::eltwise_abs},
    {"clip", Algorithm::eltwise_clip, 0, "a_min", "a_max"},
    {"exp", Algorithm::eltwise_exp},
    {"log", Algorithm::eltwise_log},
    {"logistic", Algorithm::eltwise_logistic},
    {"neg", Algorithm::eltwise_linear, -1},
    {"negative", Algorithm::eltwise_linear, -1},
    {"nn.leaky_relu", Algorithm::eltwise_relu, 0, "alpha"},
    {"nn.relu", Algorithm::eltwise_relu},
    {"nn.silu", Algorithm::eltwise_swish, 1},
    {"relu", Algorithm::eltwise_relu},
    {"round", Algorithm::eltwise_round},
    {"rsqrt", Algorithm::eltwise_pow, 1, {}, {}, -0.5f},
    {"sigmoid", Algorithm::eltwise_logistic},
    {"sqrt", Algorithm::eltwise_sqrt},
    {"tanh", Algorithm::eltwise_tanh},
};

// Functions that oneDNN does not have.
struct UnaryLoop {
  std::string_view name;
  float (*function)(float);
};
constexpr UnaryLoop unary_loops[] = {
    {"atan", [](float x) { return std::atan(x); }},
    {"ceil", [](float x) { return std::ceil(x); }},
    {"cos", [](float x) { return std::cos(x); }},
    {"erf", [](float x) { return std::erf(x); }},
    {"floor", [](float x) { return std::floor(x); }},
    {"sin", [](float x) { return std::sin(x); }},
};

// A loop computes what has no algorithm, and what oneDNN does not broadcast.
struct Binary {
  std::string_view name;
  Algorithm algorithm;
  float (*function)(float, float);
};
constexpr Binary binaries[] = {
    {"add", Algorithm::binary_add, [](float a, float b) { return a + b; }},
    {"div", Algorithm::binary_div, [](float a, float b) { return a / b; }},
    {"divide", Algorithm::binary_div, [](float a, float b) { return a / b; }},
    {"equal", Algorithm::undef, [](float a, float b) { return a == b ? 1.0f : 0.0f; }},
    {"greater", Algorithm::undef, [](float a, float b) { return a > b ? 1.0f : 0.0f; }},
    {"greater_equal", Algorithm::undef, [](float a, float b) { return a >= b ? 1.0f : 0.0f; }},
    {"less", Algorithm::undef, [](float a, float b) { return a < b ? 1.0f : 0.0f; }},
    {"less_equal", Algorithm::undef, [](float a, float b) { return a <= b ? 1.0f : 0.0f; }},
    {"maximum", Algorithm::binary_max, [](float a, float b) { return std::max(a, b); }},
    {"minimum", Algorithm::binary_min, [](float a, float b) { return std::min(a, b); }},
    {"mul", Algorithm::binary_mul, [](float a, float b) { return a * b; }},
    {"multiply", Algorithm::binary_mul, [](float a, float b) { return a * b; }},
    {"not_equal", Algorithm::undef, [](float a, float b) { return a != b ? 1.0f : 0.0f; }},
    {"pow", Algorithm::undef, [](float a, float b) { return std::pow(a, b); }},
    {"power", Algorithm::undef, [](float a, float b) { return std::pow(a, b); }},
    {"sub", Algorithm::binary_sub, [](float a, float b) { return a - b; }},
    {"subtract", Algorithm::binary_sub, [](float a, float b) { return a - b; }},
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

// Computes with one function of two numbers for each element.
Status add_loop(const Operator& op, const View& first, const View& second, const Binary& binary) {
  op.widen();
  const Dims out = op.output_dims();
  GANTRY_TRY(const DataType type, op.output_type());
  Elements elements[2];
  View views[3];
  const View* const inputs[] = {&first, &second};
  for (std::size_t i = 0; i < 2; ++i) {
    if (inputs[i]->type() != DataType::f32) {
      return op.refuse_support(": input ", i, " is not of float32, supported is float32");
    }
    GANTRY_TRY(views[i], op.builder.plain(*inputs[i]));
    elements[i] = elements_of(views[i].desc);
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      const std::int64_t extent = elements[i].dims[axis];
      if (extent == out[axis]) continue;
      if (extent != 1) {
        return op.refuse(": inputs of shapes ", numbers_text(first.dims()), " and ",
                         numbers_text(second.dims()), " do not give ", numbers_text(out));
      }
      elements[i].strides[axis] = 0;
    }
  }
  views[2] = op.builder.temporary(plain_desc(out, type));
  op.builder.emit(binary_loop(std::move(elements[0]), std::move(elements[1]),
                              elements_of(views[2].desc), binary.function),
                  views);
  return op.set_output(views[2]);
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

Result<View> binary(const Operator& op, View first, View second, Algorithm algorithm,
                    const Dims& out, DataType type) {
  Builder& builder = op.builder;
  const bool commutes = algorithm != Algorithm::binary_sub && algorithm != Algorithm::binary_div;
  // oneDNN requires the first tensor to have the shape of the output.
  if (commutes && first.dims() != out && second.dims() == out) std::swap(first, second);
  const auto primitive = describe<::dnnl::binary>(builder.engine(), new_attributes(), algorithm,
                                                  first.desc, second.desc, any_desc(out, type));
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC_0, first},
                      {DNNL_ARG_SRC_1, second},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::binary(primitive), uses);
  return output;
}

bool is_loop(Operation operation, std::string_view name) {
  if (operation == Operation::elementwise)
    return std::ranges::find(unary_loops, name, &UnaryLoop::name) != std::end(unary_loops);
  const auto* const found = std::ranges::find(binaries, name, &Binary::name);
  return operation == Operation::binary && found != std::end(binaries) &&
         found->algorithm == Algorithm::undef;
}

Status lower_elementwise(const Operator& op) {
  const std::string_view name = op.name();
  if (const auto* const loop = std::ranges::find(unary_loops, name, &UnaryLoop::name);
      loop != std::end(unary_loops)) {
    op.widen();
    GANTRY_TRY(const View input, op.input(0));
    GANTRY_TRY(const View from, op.builder.plain(input));
    const View to = op.builder.temporary(from.desc);
    const View views[] = {from, to};
    op.builder.emit(unary_loop(elements_of(from.desc), elements_of(to.desc), loop->function),
                    views);
    return op.set_output(to);
  }
  const auto* const unary = std::ranges::find(unaries, name, &Unary::name);
  if (unary == std::end(unaries)) return bug("operator ", op.match.base, " has no algorithm");
  GANTRY_TRY(const View input, op.input(0));
  float numbers[] = {unary->alpha, unary->beta};
  const std::string_view names[] = {unary->alpha_attribute, unary->beta_attribute};
  // Relax's bounds are arguments, of which its exporter makes attributes.
  const std::string_view bounds[] = {"arg_min", "arg_max"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (names[i].empty()) continue;
    const bool is_bound = name == "clip" && op.attributes.has(bounds[i]);
    GANTRY_TRY(numbers[i], op.attributes.real(is_bound ? bounds[i] : names[i]));
  }
  GANTRY_TRY(View output, eltwise(op.builder, input, unary->algorithm, numbers[0], numbers[1]));
  return op.set_output(std::move(output));
}

Status lower_binary(const Operator& op) {
  const auto* const found = std::ranges::find(binaries, op.name(), &Binary::name);
  if (found == std::end(binaries)) return bug("operator ", op.match.base, " has no algorithm");
  const Dims out = op.output_dims();
  GANTRY_TRY(View first, op.input(0));
  GANTRY_TRY(View second, op.input(1));
  GANTRY_TRY(first, of_rank(op, first, out.size()));
  GANTRY_TRY(second, of_rank(op, second, out.size()));
  const bool commutes =
      found->algorithm != Algorithm::binary_sub && found->algorithm != Algorithm::binary_div;
  const bool is_primitive = found->algorithm != Algorithm::undef &&
                            (first.dims() == out || (commutes && second.dims() == out));
  if (!is_primitive) return add_loop(op, first, second, *found);
  GANTRY_TRY(const auto type, op.output_type());
  GANTRY_TRY(View output, binary(op, first, second, found->algorithm, out, type));
  return op.set_output(std::move(output));
}

Status lower_cast(const Operator& op) {
  GANTRY_TRY(const ElementType from, read_element_type(op.graph.entries[op.node.inputs[0]].dtype));
  GANTRY_TRY(const ElementType to, read_element_type(op.graph.entries[op.node.first_entry].dtype));
  GANTRY_TRY(const View input, op.wide_input(0));
  GANTRY_TRY(View output,
             op.builder.converted(input, is_narrow(from) ? ElementType::float32 : from, to));
  return op.set_output(std::move(output));
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
  GANTRY_TRY(const auto type, op.output_type());
  GANTRY_TRY(View output, binary(op, data, bias, Algorithm::binary_add, out, type));
  return op.set_output(std::move(output));
}

}  // namespace gantry::dnnl_plugin
