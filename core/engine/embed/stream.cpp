// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/stream.hpp"

#include "core/base/call_destroy.hpp"
#include "core/base/process_end.hpp"
#include "core/engine/embed/stream_waiter.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/abi_boundary.hpp>

#include <new>

namespace gantry {
namespace {

struct FoundDevice {
  std::shared_ptr<const Device> kind;
  std::string name;
};

// Finds a device whose functions are to be called.
//
Result<FoundDevice> find(RuntimeState& state, gantry_device_id device) {
  GANTRY_TRY(std::shared_ptr<const Device> kind, state.device(device.type));
  std::string name = concat(kind->name, ":", device.index);
  GANTRY_CHECK(device_at(*kind, device.index, name));
  return FoundDevice{std::move(kind), std::move(name)};
}

}  // namespace

StreamObject::~StreamObject() {
  if (waiter != nullptr) waiter->end();
  if (handle == nullptr || !plugins_may_run()) return;
  const NoCancellation guard;
  if (const auto* const kind = state->devices.find(device.type))
    call_destroy("a stream",
                 [&] { (*kind)->table->stream_destroy((*kind)->self, device.index, handle); });
}

namespace {

Failure no_function(const Device& device, std::string_view function) {
  return unsupported(function, " of ", described(device),
                     ": the device does not have this function")
      .with_reason("FUNCTION_ABSENT");
}

// Creates an object that owns the stream that `create` makes.
//
// create   [in]   gantry_code(void** handle, gantry_status*)
template <class Create>
Result<Ref<StreamObject>> made_stream(RuntimeState& state, gantry_device_id device,
                                      const FoundDevice& found, std::string_view function,
                                      Create&& create) {
  // Owns the stream from its creation on.
  auto* const object = new (std::nothrow) StreamObject(state.shared_from_this(), device, nullptr);
  if (object == nullptr) return exhausted("no memory for a stream");
  object->header = fresh_header(GANTRY_STREAM, delete_object<StreamObject>);
  auto made = Ref<StreamObject>::adopt(object);
  Status created = call_table(*found.kind, device.index, function,
                              [&](gantry_status* out) { return create(&object->handle, out); });
  if (created.ok()) return made;
  object->handle = nullptr;
  return std::move(created).failure().at("while creating a stream of device ", found.name);
}

}  // namespace

Result<Ref<StreamObject>> new_stream(RuntimeState& state, gantry_device_id device) {
  GANTRY_TRY(const FoundDevice found, find(state, device));
  const Device& kind = *found.kind;
  return made_stream(state, device, found, "stream_create", [&](void** handle, gantry_status* out) {
    return kind.table->stream_create(kind.self, device.index, 0, handle, out);
  });
}

Result<Ref<StreamObject>> import_stream(RuntimeState& state, gantry_device_id device,
                                        void* handle) {
  GANTRY_TRY(const FoundDevice found, find(state, device));
  const Device& kind = *found.kind;
  if (kind.table->stream_import == nullptr) return no_function(kind, "stream_import");
  return made_stream(state, device, found, "stream_import", [&](void** made, gantry_status* out) {
    return kind.table->stream_import(kind.self, device.index, handle, made, out);
  });
}

Status notify_after(StreamObject& stream, void (*notify)(void* argument), void* argument) {
  GANTRY_TRY(const FoundDevice found, find(*stream.state, stream.device));
  const Device& kind = *found.kind;
  if (kind.table->stream_notify != nullptr) {
    return call_table(kind, stream.device.index, "stream_notify", [&](gantry_status* out) {
      return kind.table->stream_notify(kind.self, stream.device.index, stream.handle, notify,
                                       argument, out);
    });
  }
  std::shared_ptr<StreamWaiter> waiter;
  {
    const std::lock_guard lock(stream.waiter_mutex);
    if (stream.waiter == nullptr) stream.waiter = std::make_shared<StreamWaiter>();
    waiter = stream.waiter;
  }
  return waiter->add(Ref<StreamObject>::share(&stream), notify, argument);
}

namespace {

// An object of a device as its table knows it.
struct NativeObject {
  const Device* device;
  std::int32_t index;
  // GANTRY_NATIVE_* of the object
  std::int32_t kind;
  void* object;
};

// A view is part of the tensor that owns its memory.
Result<NativeObject> native_object(gantry_object* object) {
  if (const StreamObject* const stream = as_stream(object)) {
    const auto& device = *stream->state->devices.find(stream->device.type);
    return NativeObject{device.get(), stream->device.index, GANTRY_NATIVE_STREAM, stream->handle};
  }
  if (object == nullptr || object->kind != GANTRY_TENSOR) {
    return invalid("native_get: the object is ",
                   object == nullptr ? "NULL" : concat("of kind ", object->kind),
                   ", expected a stream or a tensor")
        .with_reason("ARGUMENT_KIND");
  }
  const auto* tensor = reinterpret_cast<const TensorObject*>(object);
  while (tensor->device == nullptr && tensor->owner.get() != nullptr &&
         is_own_tensor(*tensor->owner.get()))
    tensor = reinterpret_cast<const TensorObject*>(tensor->owner.get());
  if (tensor->device == nullptr) {
    return unsupported(
               "native_get: the memory of the tensor is that of its owner, not of a device "
               "of this runtime")
        .with_reason("NATIVE_KIND");
  }
  return NativeObject{tensor->device.get(), tensor->tensor.device.index, GANTRY_NATIVE_MEMORY,
                      tensor->tensor.data};
}

}  // namespace

Result<void*> native_handle(gantry_object* object, std::int32_t kind) {
  GANTRY_TRY(const NativeObject found, native_object(object));
  if (kind != GANTRY_NATIVE_CONTEXT && kind != found.kind) {
    return invalid("native_get: kind is ", kind, ", a ",
                   found.kind == GANTRY_NATIVE_STREAM ? "stream" : "tensor", " has ",
                   std::int32_t{GANTRY_NATIVE_CONTEXT}, " and ", found.kind)
        .with_reason("NATIVE_KIND");
  }
  const Device& device = *found.device;
  if (device.table->native_get == nullptr) return no_function(device, "native_get");
  void* handle = nullptr;
  GANTRY_CHECK(call_table(device, found.index, "native_get", [&](gantry_status* out) {
    return device.table->native_get(device.self, found.index, kind,
                                    kind == GANTRY_NATIVE_CONTEXT ? nullptr : found.object, &handle,
                                    out);
  }));
  return handle;
}

StreamObject* as_stream(gantry_object* object) {
  void (*const deleter)(void*, std::int32_t) = delete_object<StreamObject>;
  return object != nullptr && object->deleter == deleter ? reinterpret_cast<StreamObject*>(object)
                                                         : nullptr;
}

Status synchronize(RuntimeState& state, gantry_device_id device, void* handle) {
  GANTRY_TRY(const FoundDevice found, find(state, device));
  Status waited = call_table(*found.kind, device.index, "synchronize", [&](gantry_status* out) {
    return found.kind->table->synchronize(found.kind->self, device.index, handle, out);
  });
  if (waited.ok()) return waited;
  return std::move(waited).failure().at("while waiting for device ", found.name);
}

}  // namespace gantry
