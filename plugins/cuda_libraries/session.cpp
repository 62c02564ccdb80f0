// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/device.hpp>

namespace gantry::cuda_libraries {
namespace {

Result<void*> native(const gantry_device& device, std::int32_t kind, void* object) {
  if (device.table->native_get == nullptr) return no_native_handle(device.table->name, kind);
  StatusBuffer status;
  void* handle = nullptr;
  const gantry_code code =
      device.table->native_get(device.self, device.id.index, kind, object, &handle, status.get());
  if (code != GANTRY_OK) return status.error(code, "native_get");
  return handle;
}

}  // namespace

Session::Memory::~Memory() {
  if (data_ == nullptr) return;
  const gantry_device& device = session_->device_;
  if (device.table->free_in_stream != nullptr) {
    device.table->free_in_stream(device.self, device.id.index, data_, session_->abi_stream_);
  } else {
    device.table->free(device.self, device.id.index, data_);
  }
}

Result<Session> Session::begin(const Driver& driver, const Host& host, const gantry_env& env,
                               gantry_device_id id) {
  GANTRY_TRY(const gantry_device device, host.device(id));
  void* const abi_stream = gantry_env_stream(&env, id);
  GANTRY_TRY(void* const context, native(device, GANTRY_NATIVE_CONTEXT, nullptr));
  GANTRY_TRY(void* const stream, native(device, GANTRY_NATIVE_STREAM, abi_stream));
  GANTRY_TRY(CurrentContext current, CurrentContext::enter(driver, context));
  int capture = 0;
  GANTRY_CHECK(driver.check("cuStreamIsCapturing", driver.stream_is_capturing(stream, &capture)));
  return Session(device, abi_stream, stream, capture != 0, std::move(current));
}

Result<Session::Memory> Session::allocate(std::uint64_t bytes) const {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = bytes;
  what.alignment = 256;
  what.flags = GANTRY_ALLOC_IN_STREAM;
  what.stream = abi_stream_;
  StatusBuffer status;
  void* data = nullptr;
  const gantry_code code =
      device_.table->alloc(device_.self, device_.id.index, &what, &data, status.get());
  if (code != GANTRY_OK) return status.error(code, "alloc");
  return Memory(*this, data);
}

}  // namespace gantry::cuda_libraries
