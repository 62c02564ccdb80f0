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
#include <cstdint>

namespace gantry {

// Returns the elements of a tensor on the CPU.
template <class T>
T* data_of(const gantry_tensor& tensor) {
  return reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

// Views with a byte offset may begin anywhere.
//
// returns  INVALID  elements of 2, 4 or 8 bytes do not begin at multiples of their size
//                   (ARGUMENT_ALIGNMENT)
inline Status check_aligned(const Call& call, std::size_t i, const gantry_tensor& tensor) {
  const std::uint64_t unit = tensor.dtype.bits / 8;
  if ((unit != 2 && unit != 4 && unit != 8) || is_empty(tensor)) return {};
  const std::uint64_t past =
      (reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset) % unit;
  if (past == 0) return {};
  return call
      .refuse(call.title(i), " is ", tensor_text(tensor), ", ", past, " bytes past a multiple of ",
              unit, ", expected elements at multiples of their size")
      .with_reason("ARGUMENT_ALIGNMENT");
}

// returns  INVALID  the argument is no tensor on the CPU whose elements are compact, or not aligned
inline Result<const gantry_tensor*> compact_at(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
  if (tensor->device.type != cpu_device_type || !is_compact(*tensor))
    return call.wrong(i, "a compact tensor on the CPU");
  GANTRY_CHECK(check_aligned(call, i, *tensor));
  return tensor;
}

}  // namespace gantry
