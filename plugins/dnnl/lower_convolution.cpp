// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and transposed convolutions of one to three spatial dimensions.
#include "fusion.hpp"
#include "layout.hpp"
#include "spatial.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace gantry::dnnl_plugin {
namespace {

struct Convolution {
  // number of spatial dimensions
  std::size_t rank = 0;
  std::string data_letters;
  std::string weight_letters;
  Layout data_layout;
  Layout output_layout;
  Layout weight_layout;
  std::int64_t groups = 1;
  Window window;

  bool has_group_letter() const { return weight_letters.front() == 'G'; }
};

std::optional<std::string_view> default_of(const Operator& op, std::string_view layout) {
  return op.match.row->key == "nnapi" ? std::optional(layout) : std::nullopt;
}

Result<Convolution> read_convolution(const Operator& op) {
  Convolution read;
  // "nn.conv2d", "conv1d", "deconv3d", "nn.conv2d_transpose"
  const std::size_t digit = op.match.base.find_first_of("123");
  read.rank = static_cast<std::size_t>(op.match.base[digit] - '0');
  const std::string_view spatial = spatial_letters[read.rank - 1];
  read.data_letters = concat("NC", spatial);
  // NNAPI's exporter writes no layouts.
  const std::string plain_data = concat("NC", spatial), plain_weight = concat("OI", spatial);
  GANTRY_TRY(const std::string_view data,
             op.attributes.text("data_layout", default_of(op, plain_data)));
  GANTRY_TRY(const std::string_view weight,
             op.attributes.text("kernel_layout", default_of(op, plain_weight)));
  GANTRY_TRY(std::string_view output, op.attributes.text("out_layout", ""));
  if (output.empty()) output = data;
  read.weight_letters = concat(weight.find('G') == weight.npos ? "OI" : "GOI", spatial);
  GANTRY_TRY(read.data_layout, parse_layout(op, "data_layout", data, read.data_letters));
  GANTRY_TRY(read.output_layout, parse_layout(op, "out_layout", output, read.data_letters));
  GANTRY_TRY(read.weight_layout, parse_layout(op, "kernel_layout", weight, read.weight_letters));
  const bool is_group = op.attributes.has("group");
  GANTRY_TRY(read.groups, op.attributes.integer(is_group ? "group" : "groups", 1));
  if (read.groups < 1) {
    return op.attributes.refuse("groups", " is ", read.groups, ", minimum is 1");
  }
  GANTRY_TRY(read.window, read_window(op, read.rank));
  return read;
}

// Splits the dimension O of weights {O, I, ...} in groups: {G, O / G, I, ...}.
Result<View> split_groups(const Operator& op, const View& weight, std::int64_t groups) {
  Dims dims = weight.dims();
  if (dims[0] % groups != 0) {
    return op.attributes.refuse("groups", " is ", groups, ", output channels of the weights are ",
                                dims[0]);
  }
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  const Desc split = weight.desc.reshape(dims, true);
  if (!split.is_zero()) return weight.with(split);
  return op.builder.reshaped(weight, dims);
}

// Copies the tensor that is added into the output, which the primitive then adds to.
Status copy_sum(const Operator& op, const Fusion& fusion, const Convolution& read,
                const View& output) {
  if (!fusion.sum.exists()) return {};
  GANTRY_TRY(const View sum, in_order(op, fusion.sum, read.output_layout, read.data_letters));
  if (sum.dims() != output.dims()) {
    return op.refuse(": the tensor that is added has shape ", numbers_text(sum.dims()),
                     ", the output ", numbers_text(output.dims()));
  }
  return op.builder.copy(sum, output);
}

// Adds the batch normalization that OpenCL ML's exporter fuses, and the activation behind it.
Result<View> add_batch_norm(const Operator& op, const View& data) {
  const auto& fusions = op.match.fusions;
  if (std::ranges::find(fusions, "bn") == fusions.end()) return data;
  // axis, epsilon, center, scale
  const std::vector<std::string>* const values = op.node.find("batchnorm");
  if (values == nullptr || values->size() != 4)
    return op.attributes.refuse("batchnorm", " is absent, or has not 4 values");
  SubgraphNode node;
  node.name = op.node.name;
  node.at = op.node.at;
  const std::string_view names[] = {"axis", "epsilon", "center", "scale"};
  for (std::size_t i = 0; i < 4; ++i)
    node.attributes.push_back({std::string(names[i]), {(*values)[i]}});
  const SubgraphAttributes attributes(node);
  GANTRY_TRY(const std::int64_t axis, attributes.integer("axis"));
  GANTRY_TRY(const float epsilon, attributes.real("epsilon"));
  if (axis != 1)
    return op.attributes.refuse_support("batchnorm", " has axis ", axis, ", supported is 1");
  View parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    // the last inputs
    GANTRY_TRY(parameters[i], channel_input(op, op.input_count() - 4 + i, data.dims()[1]));
  }
  GANTRY_TRY(const bool centers, attributes.truth("center"));
  GANTRY_TRY(const bool scales, attributes.truth("scale"));
  if (!scales) parameters[0] = {};
  if (!centers) parameters[1] = {};
  const View normal = batch_norm(op.builder, data, parameters, epsilon);
  const bool has_relu = std::ranges::find(fusions, "relu") != fusions.end();
  return has_relu ? eltwise(op.builder, normal, ::dnnl::algorithm::eltwise_relu) : normal;
}

template <class Primitive>
Status add_convolution(const Operator& op, const Convolution& read, const View& data, View weight,
                       const Fusion& fusion, const Dims& output_dims) {
  Builder& builder = op.builder;
  GANTRY_TRY(const auto type, op.output_type());
  constexpr bool is_transposed = std::is_same_v<Primitive, ::dnnl::deconvolution_forward>;
  const auto algorithm = is_transposed ? ::dnnl::algorithm::deconvolution_direct
                                       : ::dnnl::algorithm::convolution_direct;
  const auto primitive =
      describe<Primitive>(builder.engine(), fusion.attributes, ::dnnl::prop_kind::forward_inference,
                          algorithm, any_of(data), any_of(weight), any_of(fusion.bias),
                          any_desc(output_dims, type), read.window.strides, read.window.dilations,
                          read.window.padding_begin, read.window.padding_end);
  GANTRY_TRY(const View src, builder.in_layout(data, primitive.src_desc()));
  GANTRY_TRY(weight, builder.in_layout(weight, primitive.weights_desc()));
  View bias = fusion.bias;
  if (bias.exists()) {
    GANTRY_TRY(bias, builder.in_layout(bias, primitive.bias_desc()));
  }
  const View output = builder.temporary(primitive.dst_desc());
  GANTRY_CHECK(copy_sum(op, fusion, read, output));
  const Use uses[] = {
      {DNNL_ARG_SRC, src},    {DNNL_ARG_WEIGHTS, weight},
      {DNNL_ARG_BIAS, bias},  {scales_role, fusion.scales},
      {DNNL_ARG_DST, output}, {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(Primitive(primitive), uses);
  GANTRY_TRY(const View whole, add_batch_norm(op, output));
  GANTRY_TRY(View result,
             in_graph_order(op, whole, read.output_layout, read.data_letters, op.output_dims()));
  return op.set_output(std::move(result));
}

}  // namespace

Status lower_convolution(const Operator& op) {
  GANTRY_TRY(const Convolution read, read_convolution(op));
  GANTRY_TRY(const View input, op.input_or_part(0));
  GANTRY_TRY(const View kernel, op.input(1));
  GANTRY_TRY(const View data, in_order(op, input, read.data_layout, read.data_letters));
  GANTRY_TRY(const Dims output,
             ordered_dims(op, op.output_dims(), read.output_layout, read.data_letters));
  GANTRY_TRY(Dims extents,
             ordered_dims(op, kernel.dims(), read.weight_layout, read.weight_letters));
  if (!read.weight_layout.blocks.empty()) {
    const std::size_t first = extents.size() - read.rank - 2;
    const std::int64_t channels = data.dims()[1];
    if (channels % read.groups != 0 || output[1] % read.groups != 0) {
      return op.attributes.refuse("groups", " is ", read.groups, ", data have ", channels,
                                  " channels, the output has ", output[1]);
    }
    extents[first] = read.has_group_letter() ? output[1] / read.groups : output[1];
    extents[first + 1] = channels / read.groups;
  }
  GANTRY_TRY(View weight, in_order(op, kernel, read.weight_layout, read.weight_letters, extents));
  if (!read.has_group_letter() && read.groups > 1) {
    GANTRY_TRY(weight, split_groups(op, weight, read.groups));
  }
  GANTRY_TRY(const Fusion fusion, read_fusion(op, output, 1));
  return add_convolution<::dnnl::convolution_forward>(op, read, data, weight, fusion, output);
}

Status lower_transposed_convolution(const Operator& op) {
  GANTRY_TRY(Convolution read, read_convolution(op));
  // Upstream writes OIDHW, and TensorRT's exporter OIHW, for weights whose first dimension is that
  // of the input.
  const bool is_named_reversed = op.match.row->key == "tensorrt" || read.rank == 3;
  if (is_named_reversed) {
    std::string& letters = read.weight_layout.letters;
    const std::size_t o = letters.find('O'), i = letters.find('I');
    if (o < i) std::swap(letters[o], letters[i]);
  }
  GANTRY_TRY(const View input, op.input_or_part(0));
  GANTRY_TRY(const View kernel, op.input(1));
  GANTRY_TRY(const View data, in_order(op, input, read.data_layout, read.data_letters));
  GANTRY_TRY(View weight, in_order(op, kernel, read.weight_layout, read.weight_letters));
  GANTRY_TRY(const Dims output,
             ordered_dims(op, op.output_dims(), read.output_layout, read.data_letters));
  if (!read.has_group_letter() && read.groups > 1) {
    // {O / G, I, ...}: the groups are in I.
    std::vector<int> swapped(weight.dims().size());
    for (std::size_t i = 0; i < swapped.size(); ++i) swapped[i] = static_cast<int>(i);
    std::swap(swapped[0], swapped[1]);
    weight.desc = weight.desc.permute_axes(swapped);
    GANTRY_TRY(weight, split_groups(op, weight, read.groups));
    std::vector<int> back(weight.dims().size());
    for (std::size_t i = 0; i < back.size(); ++i) back[i] = static_cast<int>(i);
    std::swap(back[1], back[2]);
    weight.desc = weight.desc.permute_axes(back);
  }
  GANTRY_TRY(const Fusion fusion, read_fusion(op, output, 1));
  return add_convolution<::dnnl::deconvolution_forward>(op, read, data, weight, fusion, output);
}

}  // namespace gantry::dnnl_plugin
