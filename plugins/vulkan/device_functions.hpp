// SPDX-License-Identifier: Apache-2.0
//
// The functions of the device table "vulkan".
#pragma once

#include "device.hpp"

#include <gantry/device.hpp>

#include <cstdint>
#include <memory>

namespace gantry::vulkan {

class Plugin;

// A stream has no state of its own: all streams of a device run in the order of recording.
struct Stream {
  Device* device;
};

// One device, for one call.
struct DeviceFunctions {
  static constexpr DeviceIdentity identity{
      .name = "vulkan", .type = vulkan_type, .flags = GANTRY_DEVICE_OPAQUE_DATA};
  static Result<std::int32_t> count(Plugin& plugin);
  // Starts the device.
  static Result<DeviceFunctions> at(Plugin& plugin, std::int32_t index);
  // Reports an attribute without starting the device.
  static Result<Attribute> attribute(Plugin& plugin, std::int32_t index, std::int32_t kind);

  Result<void*> alloc(const gantry_alloc& what);
  Status free(void* data);
  Status copy(const gantry_copy& what, Stream* stream);
  Status fill(const DeviceFill& what, Stream* stream);
  void trim() { device.trim(); }
  Result<void*> host_address(void* data);
  Result<void*> memory_import(const gantry_external& what);

  Status synchronize(Stream* stream);
  Result<Stream*> stream_create() { return new Stream{&device}; }
  void stream_destroy(Stream* stream) { delete stream; }

  Result<std::unique_ptr<Event>> event_create(std::uint32_t flags) {
    return device.new_event((flags & GANTRY_EVENT_UNTIMED) == 0);
  }
  void event_destroy(Event* event) { device.discard(std::unique_ptr<Event>(event)); }
  Status event_record(Event* event, Stream* stream);
  Status event_wait(Event* event, Stream* stream);
  Result<std::int64_t> event_elapsed(Event* start, Event* stop);
  Result<bool> event_reached(Event* event, std::int64_t timeout_ns);
  Result<void*> native_get(std::int32_t kind, void* object) const;

  Device& device;
  DeviceLoss& loss;
};

}  // namespace gantry::vulkan
