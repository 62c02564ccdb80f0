// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/tensor/device_set.hpp"

#include <gantry/result.hpp>

#include <cstdint>

namespace gantry {

// A stream of a device.
struct DeviceStream {
  // of the device
  std::int32_t index;
  // NULL: the default stream
  void* handle;
};

// Orders future work in the stream `later` after the work that is in `earlier` now.
//
// device   [in]   of both
// returns  the errors of the device, also of work in `earlier`
// costs    waits for that work if the device has no events
Status order_streams(const Device& device, const DeviceStream& earlier, const DeviceStream& later);

}  // namespace gantry
