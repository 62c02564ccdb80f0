// SPDX-License-Identifier: Apache-2.0
#include "core/embed/stream_functions.hpp"

#include "core/embed/arguments.hpp"
#include "core/embed/dlpack.hpp"
#include "core/embed/give.hpp"
#include "core/embed/objects.hpp"
#include "core/embed/stream.hpp"
#include "core/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>

#include <string_view>

namespace gantry::stream_functions {
namespace {

// Returns the handle of a stream; NULL, the default one, if there is none.
Result<void*> handle_of(gantry_object* stream, const RuntimeState& runtime,
                        std::string_view function) {
  if (stream == nullptr) return static_cast<void*>(nullptr);
  GANTRY_TRY(const StreamObject* given, stream_argument(stream, runtime, function));
  return given->handle;
}

// streams  [in]   see dlpack::import_tensor()
Status import_tensor(RuntimeState& state, const dlpack::Managed& managed,
                     const dlpack::Streams* streams, std::string_view function,
                     gantry_value* tensor) {
  if ((managed.versioned == nullptr) == (managed.plain == nullptr)) {
    return invalid(function, ": ", managed.versioned == nullptr ? "neither" : "each",
                   " of versioned and plain is given, expected one")
        .with_reason("ARGUMENT_KIND");
  }
  return give(dlpack::import_tensor(state, managed, streams), tensor);
}

}  // namespace

gantry_code dlpack_import(gantry_object* object, DLManagedTensorVersioned* versioned,
                          DLManagedTensor* plain, gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "dlpack_import"));
    return import_tensor(RuntimeAccess::state(runtime->runtime), {versioned, plain}, nullptr,
                         "dlpack_import", tensor);
  });
}

gantry_code dlpack_import_after(gantry_object* object, DLManagedTensorVersioned* versioned,
                                DLManagedTensor* plain, void* produced, gantry_object* stream,
                                gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    constexpr std::string_view name = "dlpack_import_after";
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, name));
    RuntimeState& state = RuntimeAccess::state(runtime->runtime);
    dlpack::Streams streams{produced, nullptr};
    if (stream != nullptr) {
      GANTRY_TRY(streams.stream, stream_argument(stream, state, name));
    }
    return import_tensor(state, {versioned, plain}, &streams, name, tensor);
  });
}

gantry_code dlpack_export(gantry_object* object, gantry_object* tensor, std::uint32_t max_version,
                          gantry_object* stream, void** managed, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "dlpack_export"));
    GANTRY_TRY(TensorObject * exported, tensor_argument(tensor, "dlpack_export"));
    RuntimeState& state = RuntimeAccess::state(runtime->runtime);
    GANTRY_TRY(void* const handle, handle_of(stream, state, "dlpack_export"));
    const gantry_device_id device = exported->tensor.device;
    if (device.type != kCpu) GANTRY_CHECK(gantry::synchronize(state, device, handle));
    GANTRY_TRY(*managed, dlpack::export_tensor(*exported, max_version >> 16));
    return {};
  });
}

gantry_code stream_new(gantry_object* object, gantry_device_id device, gantry_object** stream,
                       gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "stream_new"));
    return give(new_stream(RuntimeAccess::state(runtime->runtime), device), stream);
  });
}

void* stream_handle(gantry_object* object) {
  const StreamObject* const stream = as_stream(object);
  return stream != nullptr ? stream->handle : nullptr;
}

gantry_code synchronize(gantry_object* object, gantry_device_id device, gantry_object* stream,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "synchronize"));
    RuntimeState& state = RuntimeAccess::state(runtime->runtime);
    GANTRY_TRY(void* const handle, handle_of(stream, state, "synchronize"));
    return gantry::synchronize(state, device, handle);
  });
}

}  // namespace gantry::stream_functions
