// SPDX-License-Identifier: Apache-2.0
//
// gantry/tensor_type.hpp - the dtype and shape of a tensor.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <vector>

namespace gantry {

struct TensorType {
  gantry_dtype dtype{};
  // Empty: a scalar. An extent of -1 is symbolic: any extent matches.
  std::vector<std::int64_t> shape;
};

}  // namespace gantry
