// SPDX-License-Identifier: Apache-2.0
//
// A builder of tensor descriptions.
#pragma once

#include "core/engine/tensor/tensor.hpp"

#include <cstdint>
#include <vector>

namespace gantry::test {

constexpr gantry_dtype kFloat = {2, 32, 1};
constexpr gantry_dtype kByte = {1, 8, 1};

// A tensor description that owns its shape and strides.
struct Like {
  std::vector<std::int64_t> shape, strides;
  gantry_tensor tensor{};

  explicit Like(std::vector<std::int64_t> extents, gantry_dtype dtype = kFloat,
                gantry_device_id device = {kCpu, 0})
      : shape(std::move(extents)) {
    tensor.device = device;
    tensor.dtype = dtype;
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.shape = shape.data();
  }
  Like(const Like& other) : shape(other.shape), strides(other.strides), tensor(other.tensor) {
    tensor.shape = shape.data();
    if (tensor.strides != nullptr) tensor.strides = strides.data();
  }
  Like& operator=(const Like&) = delete;

  Like& with_strides(std::vector<std::int64_t> all) {
    strides = std::move(all);
    tensor.strides = strides.data();
    return *this;
  }
  Like& over(void* data, std::uint64_t byte_offset = 0) {
    tensor.data = data;
    tensor.byte_offset = byte_offset;
    return *this;
  }
};

inline Ref<TensorObject> make(const DeviceSet& devices, const Like& like) {
  return tensor_new(devices, like.tensor).value();
}

}  // namespace gantry::test
