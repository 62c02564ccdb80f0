// SPDX-License-Identifier: Apache-2.0
//
// gantry/zero_copy.hpp - whether compiled code can use memory of a caller in place of its own.
#pragma once

#include <gantry/concat.hpp>
#include <gantry/demands.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cstdint>

namespace gantry {

// Alignment in bytes of memory that compiled code uses in place: data in files, and memory that a
// caller binds. v0.7 to v0.9 compile their code for 128, other releases for 64. Artifacts do not
// distinguish v0.8 from later releases, and code crashes with a lower alignment than it was compiled
// for.
constexpr std::uint64_t in_place_alignment = 128;
// That of code which v0.10 or later compiled, such as that of every Relax executable.
constexpr std::uint64_t in_place_alignment_since_v0_10 = 64;

constexpr bool is_aligned_in_place(std::uint64_t address,
                                   std::uint64_t alignment = in_place_alignment) {
  return address % alignment == 0;
}
inline bool is_aligned_in_place(const void* data, std::uint64_t alignment = in_place_alignment) {
  return is_aligned_in_place(std::uint64_t{reinterpret_cast<std::uintptr_t>(data)}, alignment);
}

// Returns the address of the first element. Compiled code expects a byte offset of 0. Only a handle
// keeps its offset, which check_zero_copy() requires to be 0.
inline void* element_address(const gantry_tensor& tensor) {
  return tensor.byte_offset == 0 ? tensor.data
                                 : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// Checks that a tensor can take the place of another one: device, dtype, shape, compact strides, and
// an address that is a multiple of in_place_alignment and of what the device demands; on devices whose
// addresses are handles, a byte offset of 0 instead. Memory after the tensor, which a device may
// demand, is the caller's responsibility.
//
// expected [in]   device, dtype and shape; other members are ignored
// demands  [in]   of that device
// returns  INVALID with what was found and what is expected (ZERO_COPY)
inline Status check_zero_copy(const Host& host, const gantry_tensor& tensor,
                              const gantry_tensor& expected, const Demands& demands = {}) {
  const auto refuse = [](const auto&... why) { return invalid(why...).with_reason("ZERO_COPY"); };
  const auto number_text = [](gantry_device_id device) {
    return concat("device ", device.type, ":", device.index);
  };
  if (!same_device(tensor.device, expected.device)) {
    return refuse("tensor is on ", number_text(tensor.device), ", expected ",
                  number_text(expected.device));
  }
  if (!std::ranges::equal(shape_of(tensor), shape_of(expected)) ||
      !same_dtype(tensor.dtype, expected.dtype)) {
    return refuse("tensor is ", tensor_text(tensor), ", expected ", tensor_text(expected));
  }
  if (!is_compact(tensor))
    return refuse("tensor ", tensor_text(tensor), " has strides, expected dense rows");

  GANTRY_TRY(const gantry_device found, host.device(expected.device));
  if ((found.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0) {
    if (tensor.byte_offset == 0) return {};
    return refuse("tensor begins ", tensor.byte_offset,
                  " bytes into its memory, expected 0: addresses on ", number_text(expected.device),
                  " are handles");
  }
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(expected), expected.dtype));
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  const std::uint64_t alignment = std::max(in_place_alignment, demands.alignment);
  if (bytes != 0 && !is_aligned_in_place(address, alignment)) {
    return refuse("tensor is at ", Hex{address}, ", ", address % alignment,
                  " bytes past a multiple of ", alignment);
  }
  return {};
}

}  // namespace gantry
