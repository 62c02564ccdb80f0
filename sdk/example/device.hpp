// SPDX-License-Identifier: Apache-2.0
//
// One accelerator, as the host uses it.
#pragma once

#include "memory.hpp"
#include "stream.hpp"

#include <gantry/device.hpp>

#include <atomic>
#include <memory>

namespace abacus {

class Plugin;

class Device {
 public:
  // DLPack has no number for it: the host assigns one.
  static constexpr gantry::DeviceIdentity identity{
      .name = "abacus", .type = 0, .flags = GANTRY_DEVICE_OPAQUE_DATA};
  static std::int32_t count(Plugin& plugin);
  static gantry::Result<Device*> at(Plugin& plugin, std::int32_t index);

  // What the accelerator requires of memory; options of the plugin, as no hardware decides it.
  struct Demands {
    std::uint64_t alignment = 1, padding = 1, max_allocation = UINT64_MAX;
  };
  Device(const Plugin& plugin, std::int32_t index, std::uint64_t memory_bytes,
         const Demands& demands)
      : memory(index, memory_bytes), plugin_(plugin), demands_(demands), index_(index) {}

  gantry::Attribute attribute(std::int32_t kind) const;
  gantry::Result<void*> alloc(const gantry_alloc& what);
  void free(void* data) {
    if (!host_memory.free(data)) memory.free(data);
  }
  gantry::Status copy(const gantry_copy& what, Stream* stream);

  gantry::Status fill(const gantry::DeviceFill& what, Stream* stream);
  gantry::Result<void*> memory_import(const gantry_external& what);

  gantry::Status synchronize(Stream* stream) { return stream_of(stream).wait(); }
  gantry::Result<Stream*> stream_create() {
    return new Stream(gantry::concat("stream ", ++stream_count_));
  }
  void stream_destroy(Stream* stream) { delete stream; }

  gantry::Result<Event*> event_create(std::uint32_t flags) {
    return new Event((flags & GANTRY_EVENT_UNTIMED) == 0);
  }
  void event_destroy(Event* event) { delete event; }
  gantry::Status event_record(Event* event, Stream* stream);
  gantry::Status event_wait(Event* event, Stream* stream);
  gantry::Result<std::int64_t> event_elapsed(Event* start, Event* stop);
  gantry::Result<bool> event_reached(Event* event, std::int64_t timeout_ns);
  gantry::Status stream_notify(Stream* stream, void (*notify)(void* argument), void* argument);

  gantry::Status capture_begin(Stream* stream) { return stream_of(stream).begin_capture(); }
  gantry::Result<std::unique_ptr<Recording>> capture_end(Stream* stream) {
    return stream_of(stream).end_capture();
  }
  gantry::Status capture_launch(Recording* graph, Stream* stream) {
    return stream_of(stream).push_all(*graph);
  }
  void capture_destroy(Recording* graph) { delete graph; }

  // stream   [in]   NULL: the default stream
  Stream& stream_of(Stream* stream) { return stream != nullptr ? *stream : default_stream_; }

  Memory memory;
  HostMemory host_memory;
  // Makes LOST final: see gantry/device_loss.hpp.
  gantry::DeviceLoss loss;

 private:
  struct Side;
  gantry::Result<Side> side_of(const gantry_location& location, std::uint64_t size) const;

  const Plugin& plugin_;
  const Demands demands_;
  const std::int32_t index_;
  Stream default_stream_{"default stream"};
  std::atomic<int> stream_count_{0};
};

}  // namespace abacus
