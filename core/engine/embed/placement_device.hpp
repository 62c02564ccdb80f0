// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/device.h>
#include <gantry/model.h>
#include <gantry/demands.hpp>
#include <gantry/device_name.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <cstdint>

namespace gantry {

// The device on which an executor takes an input, or leaves an output.
struct PlacementDevice {
  // its addresses are handles
  bool is_opaque = false;
  Demands demands = {};

  static Result<PlacementDevice> find(RuntimeState& runtime, gantry_device_id id) {
    GANTRY_TRY(const gantry_device found, device_of(runtime, id));
    GANTRY_TRY(const auto device, runtime.devices.get(id.type));
    GANTRY_TRY(const Demands demands, device_demands(*device, id.index));
    return PlacementDevice{(found.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0, demands};
  }

  // True if the memory of a tensor is where an executor takes it, or writes it.
  //
  // value     [in]  a tensor
  bool accepts(const gantry_value& value, const gantry_placement& at) const {
    return same_device(gantry_value_tensor(&value)->device, at.device) && is_in_place(value, at);
  }
  // True if the device uses a tensor of the host where it is.
  //
  // value     [in]  a tensor
  bool shares(const gantry_value& value, const gantry_placement& at) const {
    return demands.uses_host_memory && at.device.type != kCpu &&
           gantry_value_tensor(&value)->device.type == kCpu && is_in_place(value, at);
  }

 private:
  bool is_in_place(const gantry_value& value, const gantry_placement& at) const {
    const gantry_tensor& tensor = *gantry_value_tensor(&value);
    const std::uint64_t alignment = std::max<std::uint64_t>(at.alignment, demands.alignment);
    return tensor.byte_offset == 0 && is_compact(tensor) &&
           (is_opaque || is_aligned_in_place(tensor.data, alignment)) && is_padded(value);
  }
  // True if the tensor has memory up to a multiple of the device's padding: an allocation of the
  // host has, of other memory only the tensor's bytes are known.
  bool is_padded(const gantry_value& value) const {
    if (demands.padding == 1) return true;
    if (value.kind == GANTRY_TENSOR &&
        reinterpret_cast<const TensorObject*>(value.object)->device != nullptr)
      return true;
    const Result<std::uint64_t> bytes = data_bytes(*gantry_value_tensor(&value));
    return bytes.ok() && *bytes % demands.padding == 0;
  }
};

}  // namespace gantry
