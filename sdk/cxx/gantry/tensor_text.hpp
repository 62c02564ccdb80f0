// SPDX-License-Identifier: Apache-2.0
//
// gantry/tensor_text.hpp - texts that describe tensors in messages: "float32[1, 64]".
#pragma once

#include <gantry/tensor.h>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace gantry {

// Returns the dimensions. Empty for a tensor of one element and for one without a shape.
inline std::span<const std::int64_t> shape_of(const gantry_tensor& tensor) {
  if (tensor.shape == nullptr || tensor.ndim <= 0) return {};
  return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}

// True if an extent is 0.
inline bool is_empty(const gantry_tensor& tensor) {
  const auto shape = shape_of(tensor);
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

// True if the elements are dense and in row-major order. Ignores the strides of dimensions of size
// 1 and of tensors without elements.
inline bool is_compact(const gantry_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  if (is_empty(tensor)) return true;
  std::int64_t expected = 1;
  for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    const std::int64_t extent = tensor.shape[axis];
    if (extent == 1) continue;
    if (tensor.strides[axis] != expected) return false;
    if (__builtin_mul_overflow(expected, extent, &expected)) return false;
  }
  return true;
}

// Returns the type, "float32[2, 3]". Shows at most 16 extents.
inline std::string tensor_text(const gantry_tensor& tensor) {
  return type_text(tensor.dtype, shape_of(tensor));
}

}  // namespace gantry
