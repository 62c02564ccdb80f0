// SPDX-License-Identifier: Apache-2.0
//
// The device "opencl": the functions of its device table.
//
//     alloc returns a Buffer*, an opaque handle; offsets are passed separately
//     a stream is an in-order command queue with profiling; an event is a marker in a queue
#pragma once

#include "program.hpp"

#include <gantry/device.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gantry::opencl {

struct Plugin;

// The object that `data` of a tensor on this device points to.
struct Buffer {
  // "gantrycl" in little-endian byte order.
  static constexpr std::uint64_t mark_of_ours = 0x6c637972746e6167;

  std::uint64_t mark = mark_of_ours;
  OwnedBuffer memory;
  // Memory of a descriptor, of which `memory` is a part. It is acquired until free.
  OwnedBuffer external;
  std::uint64_t size = 0;
  Platform* platform = nullptr;
  Device* device = nullptr;
  // Never reused by another buffer; 0 is no buffer.
  std::uint64_t number = 0;
  // Others have allocated the memory, so that it does not count.
  bool is_imported = false;
};

// Memory of scope "host": a buffer that is mapped for its life.
struct HostBuffer {
  OwnedBuffer memory;
  void* mapped = nullptr;
  std::uint64_t size = 0;
  Device* device = nullptr;
  // Copies that may be in flight.
  std::vector<OwnedEvent> copies;
};

// The memory of scope "host" of all devices, by its address.
class HostBuffers {
 public:
  // thread   any
  void add(void* data, HostBuffer buffer);
  // Returns a buffer that alloc returned, and forgets it.
  std::optional<HostBuffer> take(void* data);
  // Notes that a copy uses memory, so that it is not freed before.
  void note(const void* data, OwnedEvent copy);
  bool contains(const void* data);

 private:
  HostBuffer* find(const void* data);

  std::mutex mutex_;
  std::map<std::uintptr_t, HostBuffer> buffers_;
};

// returns  INVALID  data is NULL, or no alloc of this plugin returned it (DEVICE_DATA)
// costs    one load
Result<Buffer*> buffer_of(void* data);

// Each event_record replaces the marker.
struct Event {
  explicit Event(bool timed) : is_timed(timed) {}

  const bool is_timed;
  std::mutex mutex;
  OwnedEvent marker;
};

// One device, for one call. stream.cpp implements streams and events, attributes.cpp attribute().
struct DeviceFunctions {
  static constexpr DeviceIdentity identity{
      .name = "opencl", .type = device_type, .flags = GANTRY_DEVICE_OPAQUE_DATA};
  static Result<std::int32_t> count(Plugin& plugin);
  static Result<DeviceFunctions> at(Plugin& plugin, std::int32_t index);

  Attribute attribute(std::int32_t kind) const;
  Result<void*> alloc(const gantry_alloc& what);
  void free(void* data);
  Status copy(const gantry_copy& what, cl_command_queue stream);
  Status fill(const DeviceFill& what, cl_command_queue stream);
  Result<void*> memory_import(const gantry_external& what);

  Status synchronize(cl_command_queue stream);
  Result<cl_command_queue> stream_create();
  void stream_destroy(cl_command_queue stream);

  Result<std::unique_ptr<Event>> event_create(std::uint32_t flags) {
    return std::make_unique<Event>((flags & GANTRY_EVENT_UNTIMED) == 0);
  }
  void event_destroy(Event* event) { delete event; }
  Status event_record(Event* event, cl_command_queue stream);
  Status event_wait(Event* event, cl_command_queue stream);
  Result<std::int64_t> event_elapsed(Event* start, Event* stop);
  Result<bool> event_reached(Event* event, std::int64_t timeout_ns);
  Status stream_notify(cl_command_queue stream, void (*notify)(void* argument), void* argument);

  Result<cl_command_queue> stream_import(void* handle);
  Result<void*> native_get(std::int32_t kind, void* object);

  // Records the kernels of a stream in the trace, and stores the binaries of programs. The stream
  // has been waited for.
  void finished(cl_command_queue stream);

  Plugin& plugin;
  Device& device;
  DeviceLoss& loss;

 private:
  // Returns memory up to `what.size` after `what.offset`, which is not acquired.
  //
  // returns  UNSUPPORTED  the device does not import this kind (EXTERNAL_KIND)
  //          others       see external_memory.hpp and driver_error()
  Result<OwnedBuffer> import_descriptor(const gantry_external& what);
  Result<OwnedBuffer> part_of_memory(cl_mem memory, std::uint64_t offset, std::uint64_t size);
  Result<void*> alloc_host(const gantry_alloc& what);
  bool free_host(void* data);
};

}  // namespace gantry::opencl
