// SPDX-License-Identifier: Apache-2.0
//
// The device "opencl": its table, and what the plugin holds for one runtime.
//
//     alloc returns a Buffer*: a handle; offsets travel beside it
//     a stream is a command queue, in order, with times; an event is a marker in one
#pragma once

#include "program.hpp"

#include <gantry/device.h>
#include <gantry/handle.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace gantry::opencl {

// The state of the plugin in one runtime.
struct Plugin {
  explicit Plugin(const gantry_host* table);

  Host host;
  Driver driver;
  // before the driver ends: it waits for launches
  Programs programs;
  // Buffer::number
  std::atomic<std::uint64_t> last_buffer{0};
};

// What `data` of a tensor on this device points at.
struct Buffer {
  // "gantrycl"
  static constexpr std::uint64_t mark_of_ours = 0x6c637972746e6167;

  std::uint64_t mark = mark_of_ours;
  OwnedBuffer memory;
  std::uint64_t size = 0;
  Platform* platform = nullptr;
  Device* device = nullptr;
  // of no other buffer; 0 of none
  std::uint64_t number = 0;
};

// returns  INVALID  data is NULL, or what no alloc of this plugin returned (DEVICE_DATA)
// costs    one load
Result<Buffer*> buffer_of(void* data);

extern const gantry_device_table device_table;

// Places of the table that have files of their own: attributes.cpp, stream.cpp.
gantry_code attribute(void* self, std::int32_t i, std::int32_t kind, gantry_value* out,
                      gantry_status* status);
gantry_code synchronize(void* self, std::int32_t i, void* stream, gantry_status* status);
gantry_code stream_create(void* self, std::int32_t i, std::uint32_t flags, void** stream,
                          gantry_status* status);
void stream_destroy(void* self, std::int32_t i, void* stream);
gantry_code event_create(void* self, std::int32_t i, std::uint32_t flags, void** event,
                         gantry_status* status);
void event_destroy(void* self, std::int32_t i, void* event);
gantry_code event_record(void* self, std::int32_t i, void* event, void* stream,
                         gantry_status* status);
gantry_code event_wait(void* self, std::int32_t i, void* event, void* stream,
                       gantry_status* status);
gantry_code event_elapsed(void* self, std::int32_t i, void* start, void* stop, std::int64_t* ns,
                          gantry_status* status);

inline Plugin& plugin_of(void* self) { return *static_cast<Plugin*>(self); }

}  // namespace gantry::opencl
