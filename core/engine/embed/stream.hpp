// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/device.h>
#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace gantry {

class StreamWaiter;

// GANTRY_STREAM
struct StreamObject {
  StreamObject(std::shared_ptr<RuntimeState> runtime, gantry_device_id on, void* made)
      : header{}, state(std::move(runtime)), device(on), handle(made) {}
  ~StreamObject();
  StreamObject(const StreamObject&) = delete;
  StreamObject& operator=(const StreamObject&) = delete;

  gantry_object header;
  std::shared_ptr<RuntimeState> state;
  gantry_device_id device;
  void* handle;
  std::mutex waiter_mutex;
  // Of a device without stream_notify, from the first notification on.
  std::shared_ptr<StreamWaiter> waiter;
};

// See gantry_embed::stream_new.
Result<Ref<StreamObject>> new_stream(RuntimeState& state, gantry_device_id device);

// See gantry_embed::stream_import.
Result<Ref<StreamObject>> import_stream(RuntimeState& state, gantry_device_id device, void* handle);
// See gantry_embed::stream_notify.
Status notify_after(StreamObject& stream, void (*notify)(void* argument), void* argument);
// See gantry_embed::native_get.
//
// object   [in]   a stream or a tensor
Result<void*> native_handle(gantry_object* object, std::int32_t kind);

// Returns NULL for an object of another kind, and for NULL.
StreamObject* as_stream(gantry_object* object);

// Waits for the work in a stream.
//
// handle   [in]   NULL: the default stream
// returns  not_found, unavailable: no such device; a failure of the work
Status synchronize(RuntimeState& state, gantry_device_id device, void* handle);

}  // namespace gantry
