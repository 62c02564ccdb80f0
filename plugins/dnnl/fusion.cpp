// SPDX-License-Identifier: Apache-2.0
#include "fusion.hpp"

#include <gantry/join.hpp>
#include <gantry/word_list.hpp>

#include <algorithm>
#include <optional>

namespace gantry::dnnl_plugin {
namespace {

using Algorithm = ::dnnl::algorithm;

// Activations of composites, by the word in the operator's name.
struct Activation {
  std::string_view name;
  Algorithm algorithm;
  float alpha;
  float beta;
};
constexpr Activation activations[] = {
    {"relu", Algorithm::eltwise_relu, 0, 0},        {"tanh", Algorithm::eltwise_tanh, 0, 0},
    {"sigmoid", Algorithm::eltwise_logistic, 0, 0}, {"gelu", Algorithm::eltwise_gelu_erf, 0, 0},
    {"swish", Algorithm::eltwise_swish, 1, 0},      {"mish", Algorithm::eltwise_mish, 0, 0},
    {"clip", Algorithm::eltwise_clip, 0, 0},        {"relu6", Algorithm::eltwise_clip, 0, 6},
};

Status append_activation(const Operator& op, std::string_view name, ::dnnl::post_ops& post) {
  const auto found = std::ranges::find(activations, name, &Activation::name);
  if (found == std::end(activations)) {
    return op.refuse_support(": activation ", quoted(name), " is not supported, supported are ",
                             join(activations, " ", &Activation::name));
  }
  Algorithm algorithm = found->algorithm;
  float alpha = found->alpha, beta = found->beta;
  if (name == "clip") {
    GANTRY_TRY(alpha, op.attributes.real("a_min"));
    GANTRY_TRY(beta, op.attributes.real("a_max"));
  }
  // BNNS computes the approximation with tanh.
  if (name == "gelu" && op.match.row->key == "bnns_json") algorithm = Algorithm::eltwise_gelu_tanh;
  append_eltwise(post, algorithm, alpha, beta);
  return {};
}

// Returns the input whose index is the value of an attribute; empty if it is absent or -1.
Result<View> named_input(const Operator& op, std::string_view attribute) {
  GANTRY_TRY(const std::int64_t index, op.attributes.integer(attribute, -1));
  if (index < 0) return View{};
  return op.input(static_cast<std::size_t>(index));
}

Result<std::vector<float>> constants_of(const Operator& op, std::string_view attribute,
                                        const View& view) {
  auto numbers = op.builder.constant_floats(view);
  if (numbers) return std::move(*numbers);
  return op.attributes.refuse_support(attribute,
                                      " is no constant of float32, supported are constants");
}
Result<float> number_of(const Operator& op, std::string_view attribute, const View& view) {
  GANTRY_TRY(const std::vector<float> numbers, constants_of(op, attribute, view));
  if (numbers.size() == 1) return numbers.front();
  return op.attributes.refuse_support(attribute, " has ", numbers.size(),
                                      " numbers, supported is 1");
}

void append_scale(::dnnl::post_ops& post, float scale) {
  if (scale != 1) append_eltwise(post, Algorithm::eltwise_linear, scale, 0);
}

// ["clip", "5", "6", "7"]: name, and the indices of the inputs scale, alpha, beta.
Status append_quantized_activation(const Operator& op, ::dnnl::post_ops& post) {
  const std::vector<std::string>* const values = op.node.find("activation");
  if (values == nullptr || (!values->empty() && values->front() == "none")) return {};
  if (values->size() != 4) {
    return op.attributes.refuse("activation", " has ", values->size(), " values, expected 4");
  }
  float numbers[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t index = 0;
    const std::string& text = (*values)[i + 1];
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (wrong != std::errc() || end != text.data() + text.size()) {
      return op.attributes.refuse("activation", " has ", quoted(text), ", expected an input index");
    }
    GANTRY_TRY(const View input, op.input(index));
    GANTRY_TRY(numbers[i], number_of(op, "activation", input));
  }
  const auto found = std::ranges::find_if(activations, [&](const Activation& each) {
    return each.name == values->front() || concat("nn.", each.name) == values->front();
  });
  if (found == std::end(activations)) {
    return op.attributes.refuse_support("activation", " is ", quoted(values->front()),
                                        ", supported are ",
                                        join(activations, " ", &Activation::name));
  }
  append_eltwise(post, found->algorithm, numbers[1], numbers[2]);
  append_scale(post, numbers[0]);
  return {};
}

// Quantized operators name their inputs by attributes.
Result<Fusion> read_quantized_fusion(const Operator& op, const Dims& out, std::size_t axis) {
  Fusion fusion;
  ::dnnl::post_ops post;
  GANTRY_TRY(const View scales, named_input(op, "o_scl_idx"));
  if (scales.exists()) {
    GANTRY_TRY(const std::vector<float> numbers, constants_of(op, "o_scl_idx", scales));
    if (numbers.size() != 1 && numbers.size() != static_cast<std::size_t>(out[axis])) {
      return op.attributes.refuse("o_scl_idx", " has ", numbers.size(), " scales, expected 1 or ",
                                  out[axis]);
    }
    if (has_output_scales) {
      set_output_scales(fusion.attributes, numbers, static_cast<int>(axis));
    } else if (numbers.size() == 1) {
      append_scale(post, numbers.front());
    } else {
      Dims dims(out.size(), 1);
      dims[axis] = out[axis];
      GANTRY_TRY(fusion.scales, op.builder.reshaped(scales, dims));
      post.append_binary(Algorithm::binary_mul, fusion.scales.desc);
    }
  }
  GANTRY_CHECK(append_quantized_activation(op, post));
  GANTRY_TRY(const View sum_scale, named_input(op, "sum_scl_idx"));
  GANTRY_TRY(fusion.sum, named_input(op, "sum_idx"));
  if (fusion.sum.exists() != sum_scale.exists()) {
    return op.refuse(": attribute ", fusion.sum.exists() ? "\"sum_idx\"" : "\"sum_scl_idx\"",
                     " names an input, expected both of \"sum_idx\" and \"sum_scl_idx\", or none");
  }
  if (sum_scale.exists()) {
    GANTRY_TRY(const float scale, number_of(op, "sum_scl_idx", sum_scale));
    post.append_sum(scale);
  }
  GANTRY_TRY(const View zero_point, named_input(op, "dst_zp_idx"));
  if (zero_point.exists()) {
    GANTRY_TRY(const float zero, number_of(op, "dst_zp_idx", zero_point));
    append_eltwise(post, Algorithm::eltwise_linear, 1, zero);
  }
  GANTRY_TRY(fusion.bias, named_input(op, "bias_idx"));
  fusion.attributes.set_post_ops(post);
  return fusion;
}

// An activation behind a batch normalization, which is no part of the primitive.
bool is_after_bn(const Operator& op, std::string_view word) {
  return std::ranges::find(activations, word, &Activation::name) != std::end(activations) &&
         std::ranges::find(op.match.fusions, "bn") != op.match.fusions.end();
}

}  // namespace

Result<Fusion> read_fusion(const Operator& op, const Dims& out, std::size_t axis) {
  const bool is_quantized = op.attributes.has("o_scl_idx") || op.attributes.has("dst_zp_idx") ||
                            op.attributes.has("bias_idx") || op.attributes.has("sum_idx") ||
                            op.attributes.has("sum_scl_idx");
  Fusion fusion;
  if (is_quantized) {
    GANTRY_TRY(fusion, read_quantized_fusion(op, out, axis));
  } else {
    ::dnnl::post_ops post;
    std::size_t next = 2;
    for (const std::string_view word : op.match.fusions) {
      if (word == "bias") {
        GANTRY_TRY(fusion.bias, op.input(next++));
      } else if (word == "sum") {
        GANTRY_TRY(fusion.sum, op.input(next++));
        post.append_sum(1);
      } else if (word == "dequantize") {
        GANTRY_TRY(const float scale, op.attributes.real("dq_scale"));
        append_scale(post, scale);
      } else if (word == "multiply") {
        for (std::size_t i = 0; i < 2; ++i) {
          GANTRY_TRY(View number, op.wide_input(next++));
          fusion.factors.push_back(std::move(number));
        }
      } else if (word == "bn" || word == "tuple" || word == "pad") {
        // The first is added after the primitive; the others have no effect of their own.
        continue;
      } else if (is_after_bn(op, word)) {
        continue;
      } else {
        GANTRY_CHECK(append_activation(op, word, post));
      }
    }
    // Exporters without composite names append the bias, and have an attribute for the activation.
    if (op.match.row->fusions.empty() && has_word(op.match.row->inputs, "[bias]")) {
      if (op.input_count() > 2) {
        GANTRY_TRY(fusion.bias, op.input(2));
      }
      if (op.attributes.has("activation_type")) {
        GANTRY_TRY(const std::string_view name, op.attributes.text("activation_type"));
        GANTRY_CHECK(append_activation(op, name, post));
      }
    }
    if (post.len() != 0) fusion.attributes.set_post_ops(post);
  }
  if (fusion.bias.exists()) {
    GANTRY_TRY(fusion.bias, op.builder.plain(fusion.bias));
    const std::int64_t channels = out[axis];
    if (element_count(fusion.bias.dims()) != channels) {
      return op.refuse(": bias has shape ", numbers_text(fusion.bias.dims()), ", expected ",
                       channels, " numbers");
    }
    GANTRY_TRY(fusion.bias, op.builder.reshaped(fusion.bias, {channels}));
  }
  return fusion;
}

}  // namespace gantry::dnnl_plugin
