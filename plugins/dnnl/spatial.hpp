// SPDX-License-Identifier: Apache-2.0
//
// Strides, dilations and padding of convolutions and pooling.
#pragma once

#include "lowering.hpp"

namespace gantry::dnnl_plugin {

// Of the spatial dimensions in layouts, by their number - 1.
constexpr std::string_view spatial_letters[] = {"W", "HW", "DHW"};

struct Window {
  Dims strides;
  // as oneDNN counts them: 0 is dense
  Dims dilations;
  Dims padding_begin;
  Dims padding_end;
};

// Reads "strides", "dilation" and "padding" of an operator with `rank` spatial dimensions. Padding
// has one number, one for each dimension, or those of all begins, then those of all ends.
//
// returns  MALFORMED  a stride or a dilation is below 1, or padding is negative
Result<Window> read_window(const Operator& op, std::size_t rank);

}  // namespace gantry::dnnl_plugin
