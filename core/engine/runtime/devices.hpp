// SPDX-License-Identifier: Apache-2.0
//
// Lists devices and their attributes.
#pragma once

#include <gantry/runtime.hpp>
#include "core/engine/tensor/device_set.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Returns the number of devices of a kind.
//
// returns  the plugin's own error
Result<std::int32_t> device_count(const Device& device);

// Returns the named device of a kind.
//
// index    [in]   of any range
// name     [in]   as the caller wrote it, for the message
// returns  not_found: the index is not below the count; the plugin's own error
Result<gantry_device> device_at(const Device& device, std::int32_t index, std::string_view name);

// Returns a device that a user names.
//
// returns  as Runtime::device; an unknown kind's error has the nearest name and devices_text()
Result<gantry_device_id> given_device(Runtime& runtime, const std::string& name);

// Returns the devices for messages: "this host has: cpu, opencl:0". Opens all plugins.
std::string devices_text(Runtime& runtime);

// Returns the devices of a kind. Opens the plugin that serves it. Appends errors to `problems`.
std::vector<DeviceInfo> list_devices(RuntimeState& state, std::string_view kind,
                                     std::vector<Message>& problems);

// See Runtime::devices.
std::vector<DeviceInfo> list_devices(RuntimeState& state, std::vector<Message>& problems);

}  // namespace gantry
