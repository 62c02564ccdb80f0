// SPDX-License-Identifier: Apache-2.0
//
// Devices as people ask for them: how many, and what they say of themselves.
#pragma once

#include <gantry/runtime.hpp>
#include "core/tensor/device_set.hpp"

#include <string>
#include <vector>

namespace gantry {

// How many devices of this kind are there; the plugin's own error otherwise.
Result<std::int32_t> device_count(const Device& device);

// See Runtime::devices.
std::vector<DeviceInfo> list_devices(RuntimeState& state, std::vector<std::string>& problems);

}  // namespace gantry
