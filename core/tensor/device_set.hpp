// SPDX-License-Identifier: Apache-2.0
//
// The devices of one runtime: names, numbers, and the tables that serve them.
//
//     "cpu" <-> 1            always there, ours
//     "opencl" <-> 4         DLPack's number, from the plugin's table
//     "acme" <-> 64..127     no DLPack number: assigned in order of registration
#pragma once

#include <gantry/device.h>
#include <gantry/result.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::int32_t kCpu = 1;
constexpr std::int32_t kFirstAssignedType = 64;
constexpr std::int32_t kDeviceTypeCount = 128;

// One kind of device. Lives as long as anything allocated through it: tensors share it.
struct Device {
  std::string name;
  std::int32_t type = 0;
  void* self = nullptr;
  const gantry_device_table* table = nullptr;  // complete: empty places hold stubs
  std::shared_ptr<const void> keeper;          // the plugin instance behind it
};

// A device as people write it: "cpu", "opencl:1".
struct DeviceName {
  std::string_view kind;
  std::int32_t index = 0;
};
// returns  invalid for an empty kind, a sign, or an index that is no number
Result<DeviceName> parse_device_name(std::string_view text);

// DLPack's name of a number ("cuda" for 2, "opencl" for 4 ...); empty if it has none. For messages.
std::string_view dlpack_name(std::int32_t type);

class DeviceSet {
 public:
  // Holds the CPU.
  DeviceSet();

  // Adds a kind of device. Its table's type decides the number, 0: the next of 64..127.
  //
  // returns  invalid where name or number is taken ("device acme.npu: number 4 is opencl's"), exhausted past 127
  // thread   any
  Result<std::int32_t> add(std::string name, void* self, const gantry_device_table* table,
                           std::shared_ptr<const void> keeper);

  // Gives a name its number before the plugin that serves it is opened: host->device_type(), configuration.
  Result<std::int32_t> number_of(std::string_view name) const;

  // returns  nullptr where no such device is registered
  // thread   any; lock-free
  // lifetime as long as the set
  const std::shared_ptr<const Device>* find(std::int32_t type) const;
  const std::shared_ptr<const Device>* find(std::string_view name) const;

  // not_found listing the devices there are: "device number 7 (vulkan) is not there; devices: cpu"
  Result<std::shared_ptr<const Device>> get(std::int32_t type) const;

  std::vector<std::shared_ptr<const Device>> all() const;

 private:
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<const Device>, kDeviceTypeCount> slots_;
  std::array<std::atomic<bool>, kDeviceTypeCount> present_{};
  std::int32_t next_assigned_ = kFirstAssignedType;
};

}  // namespace gantry
