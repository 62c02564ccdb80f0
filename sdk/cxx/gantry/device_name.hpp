// SPDX-License-Identifier: Apache-2.0
//
// gantry/device_name.hpp - names and numbers of DLPack's device types: 4 is "opencl".
#pragma once

#include <gantry/tensor.h>
#include <gantry/concat.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// Host memory.
constexpr std::int32_t cpu_device_type = 1;

namespace detail {
struct DlpackDevice {
  std::int32_t type;
  std::string_view name;
};
// source   dlpack.h 1.1, DLDeviceType. TVM's own numbers in releases up to v0.10 are translated
//          when an artifact is read
constexpr DlpackDevice dlpack_devices[] = {
    {1, "cpu"},        {2, "cuda"},     {3, "cuda_host"},     {4, "opencl"},
    {7, "vulkan"},     {8, "metal"},    {9, "vpi"},           {10, "rocm"},
    {11, "rocm_host"}, {12, "ext_dev"}, {13, "cuda_managed"}, {14, "oneapi"},
    {15, "webgpu"},    {16, "hexagon"}, {17, "maia"},         {18, "trn"},
};
}  // namespace detail

// Returns 0 if DLPack has no such name.
constexpr std::int32_t dlpack_number(std::string_view name) {
  for (const detail::DlpackDevice& device : detail::dlpack_devices) {
    if (device.name == name) return device.type;
  }
  return 0;
}

// Returns an empty text if DLPack has no such number.
constexpr std::string_view dlpack_name(std::int32_t type) {
  for (const detail::DlpackDevice& device : detail::dlpack_devices) {
    if (device.type == type) return device.name;
  }
  return {};
}

constexpr bool same_device(gantry_device_id a, gantry_device_id b) {
  return a.type == b.type && a.index == b.index;
}

// Returns the text of a device for messages: "opencl:0"; "device 64:0" for a number that a runtime
// assigned.
inline std::string device_text(gantry_device_id device) {
  const std::string_view name = dlpack_name(device.type);
  return name.empty() ? concat("device ", device.type, ':', device.index)
                      : concat(name, ':', device.index);
}

}  // namespace gantry
