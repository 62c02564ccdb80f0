// SPDX-License-Identifier: Apache-2.0
//
// gantry/device_name.hpp - names and numbers of DLPack's device types: 4 is "opencl".
#pragma once

#include <gantry/device.h>
#include <gantry/tensor.h>
#include <gantry/concat.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// Host memory.
constexpr std::int32_t cpu_device_type = 1;
// "ext_dev", the number in artifacts of every device that has no other.
constexpr std::int32_t ext_dev_type = 12;
// The numbers that a runtime assigns to devices without a number of DLPack's.
constexpr std::int32_t first_assigned_type = 64, last_assigned_type = 127;

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

// True if a device of a type serves the number in an artifact: they are equal, or the number is
// ext_dev_type and a runtime has assigned the type.
//
// number   [in]   of host's device_type_in(), which resolves ext_dev_type where the modules of the
//                 artifact determine the device
constexpr bool serves_number(std::int32_t type, std::int32_t number) {
  return type == number ||
         (number == ext_dev_type && type >= first_assigned_type && type <= last_assigned_type);
}

// Returns the text of a device for messages: "opencl:0"; "device 64:0" for a number that a runtime
// assigned, whose name device_text_of() and Host::device_text() have.
inline std::string device_text(gantry_device_id device) {
  const std::string_view name = dlpack_name(device.type);
  return name.empty() ? concat("device ", device.type, ':', device.index)
                      : concat(name, ':', device.index);
}

// Returns the name of a device and its index: "acme_npu:0".
inline std::string device_text_of(const gantry_device& device) {
  if (device.table == nullptr || device.table->name == nullptr) return device_text(device.id);
  return concat(device.table->name, ':', device.id.index);
}

}  // namespace gantry
