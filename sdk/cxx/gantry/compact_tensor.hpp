// SPDX-License-Identifier: Apache-2.0
//
// gantry/compact_tensor.hpp - describes dense, row-major elements as a tensor.
//
//     const std::int64_t shape[] = {2, 3};
//     GANTRY_TRY(Value made, host.tensor_new(compact_tensor(dtypes::float32, shape, device)));
#pragma once

#include <gantry/tensor.h>
#include <gantry/device_name.hpp>

#include <cstdint>
#include <span>

namespace gantry {

// Returns a tensor without strides and without a byte offset.
//
// shape    [in]   not copied
// data     [in]   not copied; a tensor has no const form: readers must not write to it
// lifetime as long as shape and data
inline gantry_tensor compact_tensor(gantry_dtype dtype, std::span<const std::int64_t> shape,
                                    gantry_device_id device = {cpu_device_type, 0},
                                    const void* data = nullptr) {
  return {const_cast<void*>(data),
          device,
          static_cast<std::int32_t>(shape.size()),
          dtype,
          const_cast<std::int64_t*>(shape.data()),
          nullptr,
          0};
}

}  // namespace gantry
