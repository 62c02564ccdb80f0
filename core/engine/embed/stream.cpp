// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/stream.hpp"

#include "core/base/call_destroy.hpp"
#include "core/base/process_end.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/tensor/device_set.hpp"

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
  if (handle == nullptr || !plugins_may_run()) return;
  const NoCancellation guard;
  if (const auto* const kind = state->devices.find(device.type))
    call_destroy("a stream",
                 [&] { (*kind)->table->stream_destroy((*kind)->self, device.index, handle); });
}

Result<Ref<StreamObject>> new_stream(RuntimeState& state, gantry_device_id device) {
  GANTRY_TRY(const FoundDevice found, find(state, device));
  // Owns the stream from its creation on.
  auto* const object = new (std::nothrow) StreamObject(state.shared_from_this(), device, nullptr);
  if (object == nullptr) return exhausted("no memory for a stream");
  object->header = fresh_header(GANTRY_STREAM, delete_object<StreamObject>);
  auto made = Ref<StreamObject>::adopt(object);
  Status created = call_table(*found.kind, device.index, "stream_create", [&](gantry_status* out) {
    return found.kind->table->stream_create(found.kind->self, device.index, 0, &object->handle,
                                            out);
  });
  if (created.ok()) return made;
  object->handle = nullptr;
  return std::move(created).failure().at("while creating a stream of device ", found.name);
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
