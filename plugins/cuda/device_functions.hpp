// SPDX-License-Identifier: Apache-2.0
//
// The functions of the device table "cuda".
//
// Streams and events of the ABI are CUstream and CUevent, so applications can pass their own. The
// default stream (NULL) is a stream of the plugin that can be captured and is ordered with the
// device's legacy stream. Streams from stream_create are not ordered with it.
#pragma once

#include "device.hpp"

#include <gantry/device.hpp>

#include <cstdint>

namespace gantry::cuda {

struct Plugin;

// One device for one call; its context is current.
struct DeviceFunctions {
  static constexpr DeviceIdentity identity{.name = "cuda", .type = cuda_type};
  static Result<std::int32_t> count(Plugin& plugin);
  // Opens the device.
  static Result<DeviceFunctions> at(Plugin& plugin, std::int32_t index);
  // Opens the device only for GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY.
  static Result<Attribute> attribute(Plugin& plugin, std::int32_t index, std::int32_t kind);

  Result<void*> alloc(const gantry_alloc& what);
  void free(void* data) { device.free(data, devices); }
  Status copy(const gantry_copy& what, CUstream stream) {
    return device.copy(what, stream, devices);
  }
  Status fill(const DeviceFill& what, CUstream stream);
  Status free_in_stream(void* data, CUstream stream) {
    return device.memory.free_in_stream(data, device.stream_of(stream));
  }
  Status trim() { return device.memory.trim(); }
  Result<void*> memory_import(const gantry_external& what) { return device.memory.import(what); }

  Status synchronize(CUstream stream);
  Result<CUstream> stream_create();
  Status stream_destroy(CUstream stream);

  Result<CUevent> event_create(std::uint32_t flags);
  Status event_destroy(CUevent event);
  Status event_record(CUevent event, CUstream stream);
  Status event_wait(CUevent event, CUstream stream);
  Result<std::int64_t> event_elapsed(CUevent start, CUevent stop);
  Result<bool> event_reached(CUevent event, std::int64_t timeout_ns);
  Status stream_notify(CUstream stream, void (*notify)(void* argument), void* argument);

  Result<CUstream> stream_import(void* handle);
  Result<void*> native_get(std::int32_t kind, void* object) const;

  Status capture_begin(CUstream stream);
  Result<CUgraphExec> capture_end(CUstream stream);
  Status capture_launch(CUgraphExec graph, CUstream stream);
  Status capture_destroy(CUgraphExec graph);

  Devices& devices;
  Device& device;
  const Driver& driver;
  ContextScope scope;
  DeviceLoss& loss;
};

}  // namespace gantry::cuda
