// SPDX-License-Identifier: Apache-2.0
//
// One accelerator, as the host uses it. Data are addresses of its local memory, with which hosts and
// kernels calculate, and at which the host has nothing.
#pragma once

#include "hardware.hpp"

#include <gantry/device.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace quasar {

class Plugin;

// A queue of the driver, and the memory that was freed in its order.
struct Stream {
  Stream(std::shared_ptr<Queue> opened, std::string name)
      : queue(std::move(opened)), track(std::move(name)) {}

  const std::shared_ptr<Queue> queue;
  // in a trace
  const std::string track;
  std::mutex mutex;
  // Later work of the stream may use it at once.
  std::vector<BlockPtr> freed;
};

// The last fence that was recorded for it; NULL: none yet.
struct Event {
  explicit Event(bool timed) : is_timed(timed) {}
  void set(FencePtr recorded) {
    const std::lock_guard lock(mutex);
    fence = std::move(recorded);
  }
  FencePtr get() const {
    const std::lock_guard lock(mutex);
    return fence;
  }

  const bool is_timed;
  mutable std::mutex mutex;
  FencePtr fence;
};

class Device {
 public:
  // DLPack has no number for it: the host assigns one.
  static constexpr gantry::DeviceIdentity identity{.name = "quasar"};
  static std::int32_t count(Plugin& plugin);
  static gantry::Result<Device*> at(Plugin& plugin, std::int32_t index);

  Device(const Plugin& plugin, std::int32_t index, std::uint64_t memory_bytes);

  gantry::Attribute attribute(std::int32_t kind) const;
  gantry::Result<void*> alloc(const gantry_alloc& what);
  void free(void* data);
  void free_in_stream(void* data, Stream* stream);
  void trim();
  gantry::Status copy(const gantry_copy& what, Stream* stream);
  gantry::Status fill(const gantry::DeviceFill& what, Stream* stream);

  gantry::Status synchronize(Stream* stream) { return queue_of(stream).wait(); }
  gantry::Result<Stream*> stream_create() { return add_stream(processor_.open()); }
  gantry::Result<Stream*> stream_import(void* handle);
  // Commands in it hold the queue.
  void stream_destroy(Stream* stream);
  gantry::Status stream_notify(Stream* stream, void (*notify)(void* argument), void* argument);

  gantry::Result<Event*> event_create(std::uint32_t flags) {
    return new Event((flags & GANTRY_EVENT_UNTIMED) == 0);
  }
  void event_destroy(Event* event) { delete event; }
  gantry::Status event_record(Event* event, Stream* stream);
  gantry::Status event_wait(Event* event, Stream* stream);
  gantry::Result<std::int64_t> event_elapsed(Event* start, Event* stop);
  gantry::Result<bool> event_reached(Event* event, std::int64_t timeout_ns);

  gantry::Status capture_begin(Stream* stream) { return queue_of(stream).begin_recording(); }
  gantry::Result<std::unique_ptr<Recording>> capture_end(Stream* stream) {
    return queue_of(stream).end_recording();
  }
  gantry::Status capture_launch(Recording* graph, Stream* stream) {
    return queue_of(stream).launch(*graph);
  }
  void capture_destroy(Recording* graph) { delete graph; }

  gantry::Result<void*> native_get(std::int32_t kind, void* object);

  // Bytes of a command: local memory that it holds, or host memory.
  struct Range {
    std::byte* bytes = nullptr;
    std::shared_ptr<const void> owner;
  };
  // Returns memory at an address, which may be within an allocation.
  //
  // returns  INVALID  the range is in none (DEVICE_DATA)
  gantry::Result<Range> find(const void* data, std::uint64_t byte_offset, std::uint64_t size) const;
  // Memory of the driver for code of kernels. Not counted as allocated.
  //
  // returns  EXHAUSTED  (DEVICE_MEMORY)
  gantry::Result<BlockPtr> load(std::span<const std::byte> code);

  // stream   [in]   NULL: the default stream
  Stream& stream_of(Stream* stream) { return stream != nullptr ? *stream : *default_stream_; }
  Queue& queue_of(Stream* stream) { return *stream_of(stream).queue; }

  gantry::DeviceLoss loss;

 private:
  struct Allocation {
    BlockPtr block;
    std::uint64_t size;
  };
  gantry::Result<Range> side_of(const gantry_location& location, std::uint64_t size) const;
  gantry::Result<void*> alloc_host(const gantry_alloc& what);
  BlockPtr take(std::uint64_t size, std::uint64_t alignment);
  BlockPtr take_freed(const gantry_alloc& what);
  // Returns the block of an allocation, which it removes; NULL: `data` is none.
  BlockPtr remove(void* data);
  bool free_host(void* data);
  Stream* add_stream(std::shared_ptr<Queue> queue);

  const Plugin& plugin_;
  const std::int32_t index_;
  const std::uint64_t base_;
  Memory memory_;
  mutable std::mutex mutex_;
  // By address.
  std::map<std::uint64_t, Allocation> allocations_;
  std::uint64_t allocated_bytes_ = 0;
  // Of scope "host". By address.
  struct HostBlock {
    std::shared_ptr<std::byte> data;
    std::uint64_t size;
  };
  std::map<std::uint64_t, HostBlock> host_blocks_;
  std::vector<Stream*> streams_;
  std::uint64_t stream_count_ = 0;
  // Ends first, with all commands.
  Processor processor_;
  std::unique_ptr<Stream> default_stream_;
};

}  // namespace quasar
