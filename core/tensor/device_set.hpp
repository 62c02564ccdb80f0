// SPDX-License-Identifier: Apache-2.0
//
// The devices of one runtime: names, numbers, and the tables that serve them.
//
//     "cpu" <-> 1            always there, ours
//     "opencl" <-> 4         DLPack's number, from the plugin's table
//     "acme" <-> 64..127     no DLPack number, or that of ext_dev: assigned in order of registration
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
// DLPack's one number for the devices of everybody else
constexpr std::int32_t kExtDev = 12;
constexpr std::int32_t kFirstAssignedType = 64;
constexpr std::int32_t kDeviceTypeCount = 128;

// One kind of device.
struct Device {
  std::string name;
  std::int32_t type = 0;
  void* self = nullptr;
  // complete: empty places hold stubs
  const gantry_device_table* table = nullptr;
  // id; empty: the core
  std::string plugin;
};

// "device npu (plugin acme.npu)", for messages about its table.
std::string described(const Device& device);

// Memory of a device, as its table gives it and checked: it is there, and aligned as asked unless it is a handle.
//
// returns  the table's own error, or bug, reason DEVICE_ALLOC, naming the device and its plugin
Result<void*> device_alloc(const Device& device, std::int32_t index, const gantry_alloc& what);
// Frees what device_alloc() returned; at the end of a process it leaves memory of plugins to the
// system.
void device_free(const Device& device, std::int32_t index, void* data);
// True if functions of the device's table may be called: those of plugins not at the end of a process.
bool may_call(const Device& device);

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

  // Adds a kind of device in two steps, because a plugin asks for its number while it is created: reserve() gives the
  // number, serve() makes the device findable. The table's type decides the number, 0: the next of 64..127. So does
  // ext_dev's, 12, for a device that is not called so: several may claim it, and artifacts that say 12 are translated
  // (core/native/device_numbers.hpp).
  //
  // Names are unique, for people choose devices by them; "ext_dev" is one like the others, for one device at a time.
  //
  // returns  invalid where name or number is taken ("device acme.npu: number 4 is opencl's"), exhausted past 127
  // thread   any
  Result<std::int32_t> reserve(std::string name, const gantry_device_table* table,
                               std::string plugin = {});
  // Precondition: `type` was reserved and is not served yet.
  void serve(std::int32_t type, void* self);
  // Gives a reservation back: the plugin could not be created, and its table may go with it. Precondition as serve().
  void withdraw(std::int32_t type);
  // Both at once.
  Result<std::int32_t> add(std::string name, void* self, const gantry_device_table* table);

  // The number of a name: of a device that is there or reserved, else DLPack's; not_found listing what there is.
  Result<std::int32_t> number_of(std::string_view name) const;

  // What lend() keeps: the runtime that owns this set. Held weakly, or the set would keep its owner.
  // thread   before the set is shared
  void keep(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  // returns  nullptr where no such device is registered
  // thread   any; lock-free
  // lifetime as long as the set
  const std::shared_ptr<const Device>* find(std::int32_t type) const;
  const std::shared_ptr<const Device>* find(std::string_view name) const;

  // not_found listing the devices there are: "device number 7 (vulkan) is not there; devices: cpu"
  Result<std::shared_ptr<const Device>> get(std::int32_t type) const;
  // The same for whoever may outlive the runtime's handle: the pointer keeps the owner given to keep().
  Result<std::shared_ptr<const Device>> lend(std::int32_t type) const;

  std::vector<std::shared_ptr<const Device>> all() const;

 private:
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<const Device>, kDeviceTypeCount> slots_;
  std::array<std::atomic<bool>, kDeviceTypeCount> present_{};
  std::int32_t next_assigned_ = kFirstAssignedType;
  std::weak_ptr<const void> owner_;
};

}  // namespace gantry
