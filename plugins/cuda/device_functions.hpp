// SPDX-License-Identifier: Apache-2.0
//
// The functions of the device table "cuda".
//
// A stream crosses the ABI as the CUstream that it is, an event as its CUevent: those that an
// application made itself can be passed, too. The default stream (NULL) is one of the plugin's own,
// which can be captured, and is ordered with CUDA's legacy stream of the device. Streams that
// stream_create makes are not.
#pragma once

#include "device.hpp"

#include <gantry/device.hpp>

#include <cstdint>

namespace gantry::cuda {

struct Plugin;

// One device, whose context is current, for one call.
struct DeviceFunctions {
  static constexpr DeviceIdentity identity{.name = "cuda", .type = cuda_type};
  static Result<std::int32_t> count(Plugin& plugin);
  // Opens the device.
  static Result<DeviceFunctions> at(Plugin& plugin, std::int32_t index);
  // Opens the device for GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY only.
  static Result<Attribute> attribute(Plugin& plugin, std::int32_t index, std::int32_t kind);

  Result<void*> alloc(const gantry_alloc& what);
  void free(void* data) { device.free(data, devices); }
  Status copy(const gantry_copy& what, CUstream stream) {
    return device.copy(what, stream, devices);
  }

  Status synchronize(CUstream stream);
  Result<CUstream> stream_create();
  Status stream_destroy(CUstream stream);

  Result<CUevent> event_create();
  Status event_destroy(CUevent event);
  Status event_record(CUevent event, CUstream stream);
  Status event_wait(CUevent event, CUstream stream);
  Result<std::int64_t> event_elapsed(CUevent start, CUevent stop);

  Status capture_begin(CUstream stream);
  Result<CUgraphExec> capture_end(CUstream stream);
  Status capture_launch(CUgraphExec graph, CUstream stream);
  Status capture_destroy(CUgraphExec graph);

  Devices& devices;
  Device& device;
  const Driver& driver;
  ContextScope scope;
};

}  // namespace gantry::cuda
