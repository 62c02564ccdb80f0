// SPDX-License-Identifier: Apache-2.0
//
// gantry/tensor_type.hpp - the dtype and shape of a tensor.
#pragma once

#include <gantry/tensor.h>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

struct TensorType {
  gantry_dtype dtype{};
  // Empty: a scalar. An extent of -1 is symbolic: any extent matches.
  std::vector<std::int64_t> shape;
};

// True if a tensor of this dtype and shape has the type.
inline bool has_type(gantry_dtype dtype, std::span<const std::int64_t> shape,
                     const TensorType& type) {
  const auto matches = [](std::int64_t found, std::int64_t extent) {
    return extent < 0 || found == extent;
  };
  return same_dtype(dtype, type.dtype) &&
         std::equal(shape.begin(), shape.end(), type.shape.begin(), type.shape.end(), matches);
}

}  // namespace gantry
