// SPDX-License-Identifier: Apache-2.0
//
// Normalizations and softmax.
#include "lowering.hpp"

#include <algorithm>

namespace gantry::dnnl_plugin {
namespace {

using Flags = ::dnnl::normalization_flags;

// Exchanges an axis with axis 1.
Desc with_axis_as_channels(const Desc& desc, std::size_t axis) {
  std::vector<int> axes(dims_of(desc).size());
  // The axis comes to 1, those between move on by one.
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t to = i == axis ? 1 : i >= 1 && i < axis ? i + 1 : i;
    axes[i] = static_cast<int>(to);
  }
  return desc.permute_axes(axes);
}
Desc with_channels_as_axis(const Desc& desc, std::size_t axis) {
  std::vector<int> axes(dims_of(desc).size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t to = i == 1 ? axis : i > 1 && i <= axis ? i - 1 : i;
    axes[i] = static_cast<int>(to);
  }
  return desc.permute_axes(axes);
}

struct Affine {
  float epsilon = 0;
  bool scales = true;
  bool centers = true;

  Flags flags(Flags others = Flags::none) const {
    Flags all = others;
    if (scales) all |= Flags::use_scale;
    if (centers) all |= Flags::use_shift;
    return all;
  }
};

Result<Affine> read_affine(const Operator& op) {
  Affine read;
  GANTRY_TRY(read.epsilon, op.attributes.real("epsilon"));
  GANTRY_TRY(read.scales, op.attributes.truth("scale", true));
  GANTRY_TRY(read.centers, op.attributes.truth("center", true));
  return read;
}

// Multiplies by, or adds, one number for each channel.
Result<View> by_channel(const Operator& op, const View& data, View numbers,
                        ::dnnl::algorithm algorithm) {
  Dims dims(data.dims().size(), 1);
  dims[1] = data.dims()[1];
  GANTRY_TRY(numbers, op.builder.reshaped(numbers, dims));
  const auto primitive = describe<::dnnl::binary>(op.builder.engine(), new_attributes(), algorithm,
                                                  data.desc, numbers.desc, any_of(data));
  const View output = op.builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC_0, data},
                      {DNNL_ARG_SRC_1, numbers},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(op.builder, primitive)}};
  op.builder.emit(::dnnl::binary(primitive), uses);
  return output;
}

// Normalizes over the last axis.
Result<View> add_layer_norm(const Operator& op, const View& data, const Affine& affine, View scale,
                            View shift) {
  const auto primitive = describe_normalization<::dnnl::layer_normalization_forward>(
      op.builder.engine(), new_attributes(), data.desc, affine.epsilon, affine.flags());
  const View output = op.builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC, data},
                      {DNNL_ARG_SCALE, std::move(scale)},
                      {DNNL_ARG_SHIFT, std::move(shift)},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(op.builder, primitive)}};
  op.builder.emit(::dnnl::layer_normalization_forward(primitive), uses);
  return output;
}

}  // namespace

Result<View> channel_input(const Operator& op, std::size_t i, std::int64_t channels) {
  GANTRY_TRY(View view, op.wide_input(i));
  if (element_count(view.dims()) != channels || view.type() != DataType::f32) {
    return op.refuse(": input ", i, " has shape ", numbers_text(view.dims()), ", expected ",
                     channels, " numbers of float32");
  }
  return op.builder.reshaped(view, {channels});
}

View batch_norm(Builder& builder, const View& data, std::span<const View, 4> parameters,
                float epsilon) {
  Flags flags = Flags::use_global_stats;
  if (parameters[0].exists()) flags |= Flags::use_scale;
  if (parameters[1].exists()) flags |= Flags::use_shift;
  const auto primitive = describe_normalization<::dnnl::batch_normalization_forward>(
      builder.engine(), new_attributes(), data.desc, epsilon, flags);
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC, data},
                      {DNNL_ARG_SCALE, parameters[0]},
                      {DNNL_ARG_SHIFT, parameters[1]},
                      {DNNL_ARG_MEAN, parameters[2]},
                      {DNNL_ARG_VARIANCE, parameters[3]},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::batch_normalization_forward(primitive), uses);
  return output;
}

// Inputs: data, gamma, beta, mean, variance. Outputs 1 and 2, the statistics, are not computed.
Status lower_batch_norm(const Operator& op) {
  Builder& builder = op.builder;
  GANTRY_TRY(const View input, op.input(0));
  const Dims dims = input.dims();
  if (dims.size() < 2)
    return op.refuse(": data has shape ", numbers_text(dims), ", minimum is two dimensions");
  GANTRY_TRY(const std::size_t axis, axis_of(op, "axis", dims.size(), 1));
  GANTRY_TRY(const Affine affine, read_affine(op));
  View parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    GANTRY_TRY(parameters[i], channel_input(op, i + 1, dims[axis]));
  }
  if (!affine.scales) parameters[0] = {};
  if (!affine.centers) parameters[1] = {};
  const View data = input.with(with_axis_as_channels(input.desc, axis));
  const View output = batch_norm(builder, data, parameters, affine.epsilon);
  return op.set_output(output.with(with_channels_as_axis(output.desc, axis)));
}

namespace {

// Returns the number of dimensions at the end that are normalized together.
Result<std::size_t> normalized_dimensions(const Operator& op, std::size_t rank) {
  // Relax has a list.
  if (!op.attributes.has("axes")) {
    GANTRY_TRY(const std::size_t axis, axis_of(op, "axis", rank, -1));
    if (axis + 1 == rank) return std::size_t{1};
    return op.attributes.refuse_support("axis", " is ", axis, " of ", rank,
                                        ", supported is the last axis");
  }
  GANTRY_TRY(auto axes, op.attributes.integers("axes"));
  for (std::int64_t& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
  std::ranges::sort(axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes.size() > rank || axes[i] != static_cast<std::int64_t>(rank - axes.size() + i))
      axes.clear();
  }
  if (!axes.empty()) return axes.size();
  return op.attributes.refuse_support("axes", " are not the last of ", rank,
                                      " dimensions, supported are the last");
}

}  // namespace

Status lower_layer_norm(const Operator& op) {
  GANTRY_TRY(const View input, op.input(0));
  const Dims dims = input.dims();
  GANTRY_TRY(const std::size_t count, normalized_dimensions(op, dims.size()));
  const auto first = dims.end() - static_cast<std::ptrdiff_t>(count);
  const Dims rows = {element_count({dims.begin(), first}), element_count({first, dims.end()})};
  GANTRY_TRY(const Affine affine, read_affine(op));
  View scale, shift;
  if (affine.scales) {
    GANTRY_TRY(scale, channel_input(op, 1, rows[1]));
  }
  if (affine.centers) {
    GANTRY_TRY(shift, channel_input(op, 2, rows[1]));
  }
  GANTRY_TRY(const View whole, op.builder.plain(input));
  GANTRY_TRY(const View data, op.builder.reshaped(whole, rows));
  GANTRY_TRY(View output, add_layer_norm(op, data, affine, scale, shift));
  GANTRY_TRY(output, op.builder.reshaped(output, dims));
  return op.set_output(std::move(output));
}

// Normalizes each channel of each image: over the last axis of {N x C, spatial}.
Status lower_instance_norm(const Operator& op) {
  GANTRY_TRY(const View input, op.input(0));
  const Dims dims = input.dims();
  if (dims.size() < 3) {
    return op.refuse_support(": data has shape ", numbers_text(dims),
                             ", supported are three or more dimensions");
  }
  GANTRY_TRY(const Affine affine, read_affine(op));
  const std::int64_t spatial = element_count({dims.begin() + 2, dims.end()});
  GANTRY_TRY(const View rows, op.builder.reshaped(input, {dims[0] * dims[1], spatial}));
  GANTRY_TRY(View output, add_layer_norm(op, rows, {affine.epsilon, false, false}, {}, {}));
  GANTRY_TRY(output, op.builder.reshaped(output, dims));
  if (affine.scales) {
    GANTRY_TRY(const View gamma, channel_input(op, 1, dims[1]));
    GANTRY_TRY(output, by_channel(op, output, gamma, ::dnnl::algorithm::binary_mul));
  }
  if (affine.centers) {
    GANTRY_TRY(const View beta, channel_input(op, 2, dims[1]));
    GANTRY_TRY(output, by_channel(op, output, beta, ::dnnl::algorithm::binary_add));
  }
  return op.set_output(std::move(output));
}

View softmax(Builder& builder, const View& input, std::size_t axis) {
  const auto primitive =
      describe_softmax(builder.engine(), new_attributes(), input.desc, static_cast<int>(axis));
  const View output = builder.temporary(primitive.dst_desc());
  const Use uses[] = {{DNNL_ARG_SRC, input},
                      {DNNL_ARG_DST, output},
                      {DNNL_ARG_SCRATCHPAD, scratch_of(builder, primitive)}};
  builder.emit(::dnnl::softmax_forward(primitive), uses);
  return output;
}

Status lower_softmax(const Operator& op) {
  GANTRY_TRY(const View input, op.input(0));
  GANTRY_TRY(const std::size_t axis, axis_of(op, "axis", input.dims().size(), -1));
  return op.set_output(softmax(op.builder, input, axis));
}

}  // namespace gantry::dnnl_plugin
