// SPDX-License-Identifier: Apache-2.0
//
// A device of the plugin under test, for the cases that call its table.
#pragma once

#include "tools/conformance/plugin_call.hpp"
#include "tools/conformance/stage.hpp"

#include <gantry/abi_boundary.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::kit {

// A device of the plugin on this host.
class TestedDevice {
 public:
  explicit TestedDevice(const Device& device, std::int32_t count)
      : device_(device), count_(count) {}

  const Device& device() const { return device_; }
  const gantry_device_table& table() const { return *device_.table; }
  void* self() const { return device_.self; }
  std::int32_t count() const { return count_; }
  std::string name() const { return device_.name; }
  bool is_opaque() const { return (table().flags & GANTRY_DEVICE_OPAQUE_DATA) != 0; }
  gantry_location at(void* data, std::uint64_t offset = 0) const {
    return {data, offset, {device_.type, 0}};
  }

  // Calls a function of the table.
  template <class Make>
  Status operator()(std::string_view what, Make make) const {
    StatusBuffer status;
    const PluginCall record(what);
    const gantry_code code =
        status.call([&](gantry_status* failure) { return make(table(), self(), failure); });
    if (code == GANTRY_OK) return {};
    Error error = status.error(code, what);
    return std::move(error.at("in ", what, " of device ", name()));
  }

  Result<void*> alloc(std::uint64_t size, std::uint64_t alignment = 64) const {
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = size;
    what.alignment = alignment;
    what.dtype = {1, 8, 1};
    void* data = nullptr;
    GANTRY_CHECK((*this)("alloc", [&](const auto& t, void* s, gantry_status* failure) {
      return t.alloc(s, 0, &what, &data, failure);
    }));
    if (data == nullptr && size != 0)
      return bug("alloc of ", size, " bytes on device ", name(), " succeeds without an address");
    return data;
  }
  void free(void* data) const {
    const PluginCall record("free");
    table().free(self(), 0, data);
  }
  Status copy(const gantry_location& from, const gantry_location& to, std::uint64_t size,
              void* stream = nullptr, std::uint32_t flags = GANTRY_COPY_BLOCKING) const {
    gantry_copy what{};
    what.struct_size = sizeof what;
    what.flags = flags;
    what.from = from;
    what.to = to;
    what.size = size;
    return (*this)("copy", [&](const auto& t, void* s, gantry_status* failure) {
      return t.copy(s, 0, &what, stream, failure);
    });
  }
  Status synchronize(void* stream = nullptr) const {
    return (*this)("synchronize", [&](const auto& t, void* s, gantry_status* failure) {
      return t.synchronize(s, 0, stream, failure);
    });
  }
  // nullopt: the device does not have the attribute.
  Result<std::optional<std::int64_t>> number(std::int32_t kind) const {
    gantry_value value{};
    const Status called = (*this)("attribute", [&](const auto& t, void* s, gantry_status* failure) {
      return t.attribute(s, 0, kind, &value, failure);
    });
    if (called.ok() && value.kind == GANTRY_INT) return std::optional(value.i);
    if (called.ok() && value.kind >= GANTRY_OBJECT) gantry_release(value.object);
    return std::optional<std::int64_t>();
  }

 private:
  const Device& device_;
  std::int32_t count_;
};

// Memory of a device, freed with the scope.
class DeviceMemory {
 public:
  static Result<DeviceMemory> make(const TestedDevice& device, std::uint64_t size) {
    GANTRY_TRY(void* const data, device.alloc(size));
    return DeviceMemory(device, data);
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() {
    if (data_ != nullptr) device_.free(data_);
  }
  gantry_location at(std::uint64_t offset = 0) const { return device_.at(data_, offset); }

 private:
  DeviceMemory(const TestedDevice& device, void* data) : device_(device), data_(data) {}
  const TestedDevice& device_;
  void* data_;
};

inline gantry_location in_host(const void* data, std::uint64_t offset = 0) {
  return {const_cast<void*>(data), offset, {kCpu, 0}};
}

// Returns random bytes, the same for each seed.
std::vector<std::uint8_t> bytes_with_pattern(std::size_t size, std::uint64_t seed);

// Runs a check for each kind of device of which this host has one.
Status for_each_device(Subject& subject, const std::function<Status(const TestedDevice&)>& check);

}  // namespace gantry::kit
