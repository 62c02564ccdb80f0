// SPDX-License-Identifier: Apache-2.0
//
// Lists devices and their attributes.
#pragma once

#include "core/engine/tensor/device_set.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct RuntimeState;

struct ListedAttribute {
  // "total_global_memory_bytes"
  std::string name;
  std::string text;
  // the text is a whole number
  bool is_number = false;
};

// One device of an installed plugin.
struct ListedDevice {
  // "cpu"
  std::string name;
  // device type
  std::int32_t type;
  std::int32_t index;
  // id of the plugin; empty: the core
  std::string plugin;
  std::vector<ListedAttribute> attributes;
  // Devices with the same UUID, which other drivers serve: "vulkan:0". Only where all are listed.
  std::vector<std::string> same_as;

  // Returns the text of an attribute; empty: the device has none.
  std::string_view attribute(std::string_view wanted) const;
};

// Returns the number of devices of a kind.
//
// returns  the plugin's own error
Result<std::int32_t> device_count(const Device& device);

// Returns the named device of a kind.
//
// index    [in]   of any range
// name     [in]   as the caller wrote it, for the message
// returns  not_found: the index is not below the count; lost; the plugin's own error
Result<gantry_device> device_at(const Device& device, std::int32_t index, std::string_view name);

// Returns the device id of a name: "cpu", "opencl:1". Opens the plugin that serves the device.
//
// returns  not_found, unavailable: no such device; invalid: no name of a device
Result<gantry_device_id> find_device(RuntimeState& state, std::string_view name);

// Returns a device with its function table, valid as long as the runtime. Opens the plugin.
//
// returns  not_found, unavailable: no such device
Result<gantry_device> device_of(RuntimeState& state, gantry_device_id id);

// returns  lost: the error of the call that reported the loss of the device
// costs    a few loads
Status check_not_lost(const RuntimeState& state, gantry_device_id device);

// Returns a device that a user names.
//
// returns  as find_device(); an unknown kind's error has the nearest name and devices_text()
Result<gantry_device_id> given_device(RuntimeState& state, const std::string& name);

// Returns the devices for messages: "this host has: cpu, opencl:0". Opens all plugins that have not
// failed.
std::string devices_text(RuntimeState& state);

// Returns the devices of a kind. Opens the plugin that serves it. Appends errors to `problems`.
std::vector<ListedDevice> list_devices(RuntimeState& state, std::string_view kind,
                                       std::vector<Error>& problems);

// Returns every device of every installed plugin, the CPU first. Appends errors of plugins to
// `problems`.
std::vector<ListedDevice> list_devices(RuntimeState& state, std::vector<Error>& problems);

}  // namespace gantry
