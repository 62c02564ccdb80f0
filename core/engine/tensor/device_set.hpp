// SPDX-License-Identifier: Apache-2.0
//
// The devices of one runtime: their names, device types and function tables.
//
//     "cpu" <-> 1            always present, part of the core
//     "opencl" <-> 4         DLPack's number, from the plugin's table
//     "acme" <-> 64..127     no DLPack number, or ext_dev's: assigned in order of registration
#pragma once

#include "core/base/process_end.hpp"
#include "core/base/running_code.hpp"

#include <gantry/device.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/demands.hpp>
#include <gantry/device_name.hpp>
#include <gantry/result.hpp>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

constexpr std::int32_t kCpu = cpu_device_type;
// DLPack's number for all devices that have none of their own
constexpr std::int32_t kExtDev = ext_dev_type;
constexpr std::int32_t kFirstAssignedType = first_assigned_type;
constexpr std::int32_t kDeviceTypeCount = last_assigned_type + 1;

// The memory that a runtime may allocate on the devices of one kind together.
struct MemoryLimit {
  std::int64_t bytes = 0;
  // for messages: "devices.opencl.memory_limit_mib of /etc/gantry/runtime.yaml"
  std::string source;
  std::atomic<std::int64_t> used{0};
};

// The demands of the devices of one kind that have been read.
//
// thread   any; lock-free
class KnownDemands {
 public:
  KnownDemands() = default;
  ~KnownDemands();
  KnownDemands(const KnownDemands&) = delete;
  KnownDemands& operator=(const KnownDemands&) = delete;

  // returns  NULL  those of this device have not been read
  const Demands* find(std::int32_t index) const;
  void add(std::int32_t index, const Demands& demands);

 private:
  struct Entry {
    std::int32_t index;
    Demands demands;
    const Entry* next;
  };
  std::atomic<const Entry*> first_{nullptr};
};

struct Device;

// Size of the host buffer for copies between two device types.
constexpr std::uint64_t kStagingBytes = std::uint64_t{8} << 20;

// A buffer in memory of the scope "host" of a kind of device, for copies through the host.
//
// thread   any; while one copy uses the buffer, there is none for others
class StagingMemory {
 public:
  // The buffer for one copy.
  class Use {
   public:
    Use() = default;
    explicit Use(std::unique_lock<std::mutex> lock, void* data)
        : lock_(std::move(lock)), data_(data) {}
    // NULL: plain memory is used instead
    void* data() const { return data_; }

   private:
    std::unique_lock<std::mutex> lock_;
    void* data_ = nullptr;
  };

  // Small copies use none: allocating it takes longer than they do.
  static constexpr std::uint64_t min_bytes = std::uint64_t{1} << 20;

  StagingMemory() = default;
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  // index    [in]   of the device whose scope is used, if there is no buffer yet
  // bytes    [in]   at most kStagingBytes
  Use use(const Device& device, std::int32_t index, std::uint64_t bytes);
  // Frees the buffer; there is none later.
  void release(const Device& device);

 private:
  std::mutex mutex_;
  bool may_allocate_ = true;
  void* data_ = nullptr;
  std::int32_t index_ = 0;
};

// The devices of one kind that do not respond any more, each with the error of the call that
// reported it.
//
// thread   any
class LostDevices {
 public:
  // returns  LOST  the error that was recorded
  // costs    one load if none is lost
  Status check(std::int32_t index) const;
  // Records the error of a call for a device if it is LOST, and returns the result of the call.
  Status recorded(std::int32_t index, Status done);

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::map<std::int32_t, Error> errors_;
};

// One kind of device.
struct Device {
  std::string name;
  std::int32_t type = 0;
  void* self = nullptr;
  // without empty slots: functions that a plugin does not have are stubs
  const gantry_device_table* table = nullptr;
  // plugin id; empty for devices of the core
  std::string plugin;
  // NULL: none
  std::shared_ptr<MemoryLimit> limit = {};
  std::shared_ptr<KnownDemands> demands = std::make_shared<KnownDemands>();
  std::shared_ptr<StagingMemory> staging = std::make_shared<StagingMemory>();
  std::shared_ptr<LostDevices> lost = std::make_shared<LostDevices>();
};

// "device npu (plugin acme.npu)", for errors about its table.
std::string described(const Device& device);

// Returns what a device requires of memory, which is read once.
//
// returns  the error of an attribute, or bug with reason DEVICE_DEMAND
Result<Demands> device_demands(const Device& device, std::int32_t index);

// True for memory of the host that a device copies without waiting: it is at an address, and no demand
// and no limit of the device's memory applies to it.
inline bool is_host_scope(gantry_bytes scope) {
  return std::string_view(scope.data, scope.size) == GANTRY_SCOPE_HOST;
}

// Allocates memory of a device, aligned and padded as the device demands. The result is not NULL and
// has the requested alignment, unless the device uses opaque handles. If the device has no memory, it
// returns what it keeps to its driver, and the allocation is repeated once.
//
// returns  the table's own error; exhausted with reason MEMORY_LIMIT or, beyond the device's limit of
//          one allocation, DEVICE_MEMORY; bug with reason DEVICE_ALLOC or DEVICE_DEMAND, naming the
//          device and its plugin
Result<void*> device_alloc(const Device& device, std::int32_t index, const gantry_alloc& what);
// Frees memory from device_alloc(). While the process ends, memory of plugins is not freed.
//
// bytes    [in]   as requested of device_alloc(); 0 for the scope "host"
void device_free(const Device& device, std::int32_t index, void* data, std::uint64_t bytes);
// The same in stream order: the memory is free after the work that is in the stream now. Without such
// a function of the device it is freed at once.
//
// stream   [in]   exists
void device_free_in_stream(const Device& device, std::int32_t index, void* data,
                           std::uint64_t bytes, void* stream);
// True if functions of the device's table may be called: always for the CPU, for plugins until the
// process ends.
bool may_call(const Device& device);

// Calls a function of the device's table that releases nothing. A device that is lost is not called.
//
// function [in]   for messages: "copy"
// call     [in]   gantry_code(gantry_status*)
// returns  the error of the function; lost: that of the call that reported it; unavailable: the
//          process ends
template <class Call>
Status call_table(const Device& device, std::int32_t index, std::string_view function,
                  Call&& call) {
  const auto subject = [&] { return concat(function, " of ", described(device)); };
  if (!may_call(device)) return process_end_error(subject());
  GANTRY_CHECK(device.lost->check(index));
  StatusBuffer status;
  const CallRecord record(function, device.plugin);
  const gantry_code code = status.call(std::forward<Call>(call));
  if (code == GANTRY_OK) return {};
  return device.lost->recorded(index, status.error(code, subject()));
}

// A device as users write it: "cpu", "opencl:1".
struct DeviceName {
  std::string_view kind;
  std::int32_t index = 0;
};
// Parses a device name; the default index is 0.
//
// returns  invalid for an empty kind or an index that is not a number without a sign
Result<DeviceName> parse_device_name(std::string_view text);

class DeviceSet {
 public:
  // Contains the CPU.
  DeviceSet();

  // Limits the memory of the devices with that name, also of a device that is added later.
  //
  // bytes    [in]   > 0
  // source   [in]   for messages
  // thread   before the set is shared
  void limit_memory(const std::string& name, std::int64_t bytes, std::string source);

  // Reserves a name and a device type. A device is added in two steps, since a plugin requires its
  // number while it is created: reserve() assigns the number, serve() publishes the device.
  //
  // The number is the type in the table. If that is 0, or ext_dev's 12 for a device with another
  // name, it is the next free one of 64..127: several devices may claim 12, and artifacts that
  // contain 12 are translated (core/engine/native/device_numbers.hpp). Names are unique, since users
  // choose devices by name; this includes "ext_dev".
  //
  // returns  invalid if the name or number is in use, exhausted if no number is left
  // thread   any
  Result<std::int32_t> reserve(std::string name, const gantry_device_table* table,
                               std::string plugin = {});
  // Publishes a device. Precondition: `type` is reserved and not published.
  void serve(std::int32_t type, void* self);
  // Cancels a reservation; the table may be freed afterwards. Same precondition as serve().
  void withdraw(std::int32_t type);
  // The plugin of a published device will be destroyed: memory that is kept for copies is freed.
  void release_staging(std::int32_t type);
  // The plugin of a published device is destroyed: find() does not return it any more.
  void retire(std::int32_t type);
  // reserve() and serve().
  Result<std::int32_t> add(std::string name, void* self, const gantry_device_table* table);

  // Returns the number of a device that is published or reserved, else DLPack's number for the
  // name; not_found, listing the devices, if there is neither.
  Result<std::int32_t> number_of(std::string_view name) const;

  // Sets the owner that lend() keeps alive: the runtime that contains this set. The reference is
  // weak to avoid a cycle.
  //
  // thread   before the set is shared
  void keep(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  // Finds a published device.
  //
  // returns  nullptr if there is no such device
  // thread   any; lock-free
  // lifetime that of the set
  const std::shared_ptr<const Device>* find(std::int32_t type) const;
  const std::shared_ptr<const Device>* find(std::string_view name) const;

  // Finds a published device by its type.
  //
  // returns  not_found, listing the devices
  Result<std::shared_ptr<const Device>> get(std::int32_t type) const;
  // The same for objects that may outlive the runtime's handle: the pointer keeps the owner of
  // keep() alive.
  Result<std::shared_ptr<const Device>> lend(std::int32_t type) const;

  std::vector<std::shared_ptr<const Device>> all() const;

 private:
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<const Device>, kDeviceTypeCount> slots_;
  std::array<std::atomic<bool>, kDeviceTypeCount> present_{};
  std::int32_t next_assigned_ = kFirstAssignedType;
  // by device name
  std::map<std::string, std::shared_ptr<MemoryLimit>, std::less<>> limits_;
  std::weak_ptr<const void> owner_;
};

}  // namespace gantry
