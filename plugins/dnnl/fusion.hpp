// SPDX-License-Identifier: Apache-2.0
//
// What a composite operator adds to its first one: a bias, the sum with another tensor, an
// activation, and for quantized operators scales and a zero point.
//
//     dnnl.conv2d_bias_sum_relu(data, weight, bias, other)     relu(conv2d + bias + other)
#pragma once

#include "lowering.hpp"

#include <vector>

namespace gantry::dnnl_plugin {

// The role of Fusion::scales.
constexpr int scales_role = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

struct Fusion {
  ::dnnl::primitive_attr attributes = new_attributes();
  // Empty if there is none.
  View bias;
  // Is added to the output.
  View sum;
  // Numbers with which the output is multiplied after the primitive.
  std::vector<View> factors;
  // A number for each channel, with which the first post-op multiplies.
  View scales;
};

// Reads the fusion of a convolution or a matrix product.
//
// out      [in]   extents of the output in the order of the primitive
// axis     [in]   of its channels, whose number is the size of the bias
// returns  MALFORMED    inputs or attributes
//          UNSUPPORTED  an activation
Result<Fusion> read_fusion(const Operator& op, const Dims& out, std::size_t axis);

}  // namespace gantry::dnnl_plugin
