// SPDX-License-Identifier: Apache-2.0
//
// What a composite operator adds to its first one: a bias, the sum with another tensor, an
// activation, and for quantized operators scales and a zero point.
//
//     dnnl.conv2d_bias_sum_relu(data, weight, bias, other)     relu(conv2d + bias + other)
#pragma once

#include "lowering.hpp"

namespace gantry::dnnl_plugin {

struct Fusion {
  ::dnnl::primitive_attr attributes = new_attributes();
  // Empty if there is none.
  View bias;
  // Is added to the output.
  View sum;
};

// Reads the fusion of a convolution or a matrix product.
//
// channels [in]   number of output channels, the size of the bias
// returns  MALFORMED    inputs or attributes
//          UNSUPPORTED  an activation
Result<Fusion> read_fusion(const Operator& op, std::int64_t channels);

}  // namespace gantry::dnnl_plugin
