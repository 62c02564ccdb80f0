// SPDX-License-Identifier: Apache-2.0
//
// gantry/cpu_tensor.hpp - tensors on the CPU as arguments of functions.
//
//     GANTRY_TRY(const gantry_tensor* const x, compact_at(call, 0));
//     const float* const elements = data_of<const float>(*x);
#pragma once

#include <gantry/call.hpp>
#include <gantry/device_name.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>

#include <cstddef>

namespace gantry {

// Returns the elements of a tensor on the CPU.
template <class T>
T* data_of(const gantry_tensor& tensor) {
  return reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

// returns  INVALID  the argument is no tensor on the CPU whose elements are compact
inline Result<const gantry_tensor*> compact_at(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
  if (tensor->device.type == cpu_device_type && is_compact(*tensor)) return tensor;
  return call.wrong(i, "a compact tensor on the CPU");
}

}  // namespace gantry
