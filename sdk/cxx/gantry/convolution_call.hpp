// SPDX-License-Identifier: Apache-2.0
//
// gantry/convolution_call.hpp - the arguments of a convolution that compiled code calls by name:
// `tvm.contrib.dnnl.conv2d`.
//
//     GANTRY_TRY(const Conv2dCall conv, read_conv2d(call));
//
// source   apache/tvm src/runtime/contrib/dnnl/dnnl.cc
#pragma once

#include <gantry/call.hpp>
#include <gantry/cpu_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>

namespace gantry {

// Argument names, for errors.
inline constexpr std::string_view conv2d_usage =
    "conv2d(x, w, out, top, left, bottom, right, stride_h, stride_w, groups, channels_last, "
    "pre_cast, post_cast)";

// A convolution of compact float32 tensors.
struct Conv2dCall {
  // The extents of an image or of weights and the distances of their elements, in whichever order
  // they lie.
  struct Axes {
    std::int64_t outer, inner, height, width;
    std::int64_t outer_step, inner_step, row_step, column_step;
  };
  const gantry_tensor *x, *w, *out;
  // outer: images, output channels, images; inner: channels, channels of a group, output channels
  Axes x_axes, w_axes, out_axes;
  std::int64_t top, left, bottom, right, step_y, step_x, groups;
};

// Reads conv2d(x, w, out, top, left, bottom, right, stride_h, stride_w, groups, channels_last, ...).
//
// returns  INVALID  also if an input of an output with elements has none
inline Result<Conv2dCall> read_conv2d(const Call& call) {
  GANTRY_CHECK(call.count_is(13));
  std::int64_t numbers[8];
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    GANTRY_TRY(numbers[i], call.integer(3 + i));
    const std::int64_t min = i < 4 ? 0 : i < 7 ? 1 : INT64_MIN;
    if (numbers[i] < min || (i < 7 && numbers[i] > INT32_MAX))
      return call.refuse(call.title(3 + i), " is ", numbers[i], ", expected a number from ", min);
  }
  const auto [top, left, bottom, right, step_y, step_x, groups, is_last] = numbers;
  const gantry_tensor* tensors[3];
  for (std::size_t i = 0; i < 3; ++i) {
    GANTRY_TRY(tensors[i], compact_at(call, i));
    if (tensors[i]->ndim != 4 || !same_dtype(tensors[i]->dtype, dtypes::float32))
      return call.wrong(i, "a tensor of float32 and rank 4");
    if (!is_empty(*tensors[i])) GANTRY_CHECK(tensor_bytes(shape_of(*tensors[i]), dtypes::float32));
  }
  Conv2dCall read{tensors[0], tensors[1], tensors[2], {},     {},     {},    top,
                  left,       bottom,     right,      step_y, step_x, groups};
  if (is_empty(*tensors[2])) return read;
  for (std::size_t i = 0; i < 2; ++i) {
    if (is_empty(*tensors[i])) return call.wrong(i, "a tensor with elements");
  }
  // NCHW and OIHW, or NHWC and HWIO
  const auto axes = [&](std::size_t i) -> Conv2dCall::Axes {
    const std::int64_t* const e = tensors[i]->shape;
    if (is_last == 0) return {e[0], e[1], e[2], e[3], e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
    if (i == 1) return {e[3], e[2], e[0], e[1], 1, e[3], e[1] * e[2] * e[3], e[2] * e[3]};
    return {e[0], e[3], e[1], e[2], e[1] * e[2] * e[3], 1, e[2] * e[3], e[3]};
  };
  const Conv2dCall::Axes& x = read.x_axes = axes(0);
  const Conv2dCall::Axes& w = read.w_axes = axes(1);
  const Conv2dCall::Axes& y = read.out_axes = axes(2);
  const auto extent = [](std::int64_t size, std::int64_t before, std::int64_t after,
                         std::int64_t kernel,
                         std::int64_t step) { return (size + before + after - kernel) / step + 1; };
  if (x.inner % groups != 0 || w.outer % groups != 0 || w.inner != x.inner / groups ||
      y.outer != x.outer || y.inner != w.outer || w.height > x.height + top + bottom ||
      w.width > x.width + left + right ||
      y.height != extent(x.height, top, bottom, w.height, step_y) ||
      y.width != extent(x.width, left, right, w.width, step_x)) {
    return call.refuse("a convolution of ", tensor_text(*tensors[0]), " with ",
                       tensor_text(*tensors[1]), " in ", groups, " groups is no ",
                       tensor_text(*tensors[2]));
  }
  return read;
}

}  // namespace gantry
