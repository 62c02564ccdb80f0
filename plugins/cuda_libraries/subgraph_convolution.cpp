// SPDX-License-Identifier: Apache-2.0
//
// `cudnn.conv2d.nhwc_ohwi`, which is the exporter's name of convolutions in NCHW, too.
#include "subgraph_operator.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace gantry::cuda_libraries {
namespace {

struct ConvolutionLayout {
  std::string_view data, kernel;
  int cudnn;
};
constexpr ConvolutionLayout layouts[] = {{"NHWC", "OHWI", cudnn_nhwc},
                                         {"NCHW", "OIHW", cudnn_nchw}};

class ConvolutionOperator final : public Operator {
 public:
  // layout, pads, strides and dilations of rows and columns
  int layout = cudnn_nhwc;
  std::array<std::int64_t, 6> numbers{};
  std::int64_t groups = 1;
  bool has_bias = false;
  int activation = cudnn_identity;
  const FunctionRow* function = nullptr;

  Status run(const OperatorCall& call) const override {
    if (has_bias) GANTRY_CHECK(check_bias(call));
    std::array<gantry_tensor, 3> inputs{};
    std::ranges::copy(call.inputs, inputs.begin());
    gantry_tensor output = call.output;
    std::array<gantry_value, 17> args;
    std::size_t count = 0;
    const auto add = [&](gantry_value value) { args[count++] = value; };
    // any algorithm
    for (const int number : {int{cudnn_cross_correlation}, layout, -1}) add(int_value(number));
    for (const std::int64_t number : numbers) add(int_value(number));
    if (has_bias) {
      add(int_value(activation));
      add(float_value(0));
    }
    add(tensor_ref_value(&inputs[0]));
    add(tensor_ref_value(&inputs[1]));
    if (has_bias) add(tensor_ref_value(&inputs[2]));
    add(tensor_ref_value(&output));
    add(dtype_value(inputs[0].dtype));
    add(int_value(groups));
    return call_function(*function, call, std::span(args).first(count));
  }

 private:
  // Its extent is that of the channels, in their place; the function compares the number of elements.
  Status check_bias(const OperatorCall& call) const {
    const auto shape = shape_of(call.inputs[2]);
    const std::size_t channel = layout == cudnn_nhwc ? 3 : 1;
    bool fits = shape.size() == 1 || shape.size() == 4;
    for (std::size_t i = 0; i < shape.size() && shape.size() == 4; ++i)
      fits = fits && (i == channel || shape[i] == 1);
    if (fits) return {};
    return invalid("the bias is ", tensor_text(call.inputs[2]),
                   ", expected a number for each channel")
        .with_reason("ARGUMENT");
  }
};

Result<std::unique_ptr<const Operator>> make_convolution(const SubgraphNode& node,
                                                         const Fusions& fusions) {
  const SubgraphAttributes attributes(node);
  auto made = std::make_unique<ConvolutionOperator>();
  GANTRY_TRY(const std::string_view data, attributes.text("data_layout"));
  GANTRY_TRY(const std::string_view kernel, attributes.text("kernel_layout"));
  GANTRY_TRY(const std::string_view output, attributes.text("out_layout", data));
  const auto layout = std::ranges::find(layouts, data, &ConvolutionLayout::data);
  if (layout == std::end(layouts))
    return attributes.refuse_support("data_layout", " is ", quoted(data),
                                     ", supported are NHWC and NCHW");
  if (kernel != layout->kernel) {
    return attributes.refuse_support("kernel_layout", " is ", quoted(kernel), ", supported is ",
                                     layout->kernel, " for ", data);
  }
  if (!output.empty() && output != data)
    return attributes.refuse_support("out_layout", " is ", quoted(output), ", supported is ", data);
  made->layout = layout->cudnn;

  GANTRY_TRY(std::vector<std::int64_t> pads, attributes.integers("padding"));
  if (pads.size() == 4 && pads[0] == pads[2] && pads[1] == pads[3]) pads.resize(2);
  if (pads.size() == 1) pads.push_back(pads.front());
  if (pads.size() == 4) {
    return attributes.refuse_support("padding", " is ", numbers_text(pads),
                                     ", which differs at opposite sides; cuDNN pads both alike");
  }
  if (pads.size() != 2)
    return attributes.refuse("padding", " has ", pads.size(), " numbers, expected 1, 2 or 4");
  GANTRY_TRY(const auto strides, attributes.integers("strides", 2));
  GANTRY_TRY(const auto dilations, attributes.integers("dilation", 2));
  made->numbers = {pads[0], pads[1], strides[0], strides[1], dilations[0], dilations[1]};
  GANTRY_TRY(made->groups, attributes.integer("groups", 1));
  made->has_bias = fusions.has_bias;
  if (!fusions.activation.empty()) {
    if (!fusions.has_bias) {
      return unsupported("operator ", quoted(node.name),
                         " has an activation without a bias, which cuDNN's function does not have")
          .with_reason("SUBGRAPH_OPERATOR");
    }
    made->activation = cudnn_relu;
  }
  made->function = &function_named(made->has_bias ? "tvm.contrib.cudnn.conv2d+bias+act.forward"
                                                  : "tvm.contrib.cudnn.conv2d.forward");
  return std::unique_ptr<const Operator>(std::move(made));
}

constexpr OperatorRow convolution_operator_rows[] = {
    {"cudnn_json", "cudnn.conv2d.nhwc_ohwi", "bias relu",
     "strides padding dilation groups data_layout kernel_layout out_layout", 2, 2,
     make_convolution},
};

}  // namespace

std::span<const OperatorRow> convolution_operators() { return convolution_operator_rows; }

}  // namespace gantry::cuda_libraries
