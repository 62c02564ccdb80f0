// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/devices.hpp"

#include <gantry/device.h>
#include <gantry/device_name.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <cstdint>

namespace gantry {

// A device on which compiled code reads inputs.
struct InputDevice {
  gantry_device_id id{};
  // its addresses are handles
  bool is_opaque = false;

  static Result<InputDevice> find(RuntimeState& runtime, gantry_device_id id) {
    GANTRY_TRY(const gantry_device found, device_of(runtime, id));
    return InputDevice{id, (found.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0};
  }

  // True if compiled code accepts the memory of the tensor as it is.
  //
  // alignment [in]  of addresses, for which the code was compiled
  bool accepts(const gantry_tensor& tensor, std::uint64_t alignment) const {
    return same_device(tensor.device, id) && tensor.byte_offset == 0 && is_compact(tensor) &&
           (is_opaque || is_aligned_in_place(tensor.data, alignment));
  }
};

}  // namespace gantry
