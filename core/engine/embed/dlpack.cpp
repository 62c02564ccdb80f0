// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/dlpack.hpp"

#include "core/engine/runtime/devices.hpp"
#include "core/engine/tensor/stream_order.hpp"

#include <gantry/device_name.hpp>
#include <gantry/tensor_text.hpp>

#include <string>
#include <string_view>

namespace gantry::dlpack {
namespace {

// Numbers of devices that DLPack assigns are below those that a runtime assigns.
constexpr std::int32_t first_own_number = 64;

// device   [in]   of the memory, with the name `name`
Status order(const Device& kind, gantry_device_id device, std::string_view name,
             const Streams& streams) {
  const StreamObject* const stream = streams.stream;
  if (stream != nullptr && !same_device(stream->device, device)) {
    return invalid("dlpack_import_after: stream is of another device than the tensor, which is on ",
                   name)
        .with_reason("STREAM");
  }
  if (device.type == kCpu && streams.produced != nullptr) {
    return invalid("dlpack_import_after: produced is not NULL, and the tensor is on ", name,
                   ", which has no streams")
        .with_reason("STREAM");
  }
  void* const later = stream != nullptr ? stream->handle : nullptr;
  if (streams.produced == later) return {};
  Status ordered = order_streams(kind, {device.index, streams.produced}, {device.index, later});
  if (ordered.ok()) return ordered;
  return std::move(ordered).failure().at("while importing a DLPack tensor on ", name);
}

}  // namespace

Result<Ref<TensorObject>> import_tensor(RuntimeState& state, const Managed& managed,
                                        const Streams* streams) {
  GANTRY_CHECK(check_form(managed));
  gantry_tensor what = managed.tensor();
  if (what.device.type == kCudaHost) what.device = {kCpu, 0};
  GANTRY_TRY(const auto device, state.device(what.device.type));
  const std::string name = concat(device->name, ":", what.device.index);
  GANTRY_CHECK(device_at(*device, what.device.index, name));
  if (streams != nullptr) GANTRY_CHECK(order(*device, what.device, name, *streams));
  return own_managed(managed, what, state.life());
}

Result<void*> export_tensor(TensorObject& tensor, std::uint32_t max_major) {
  const bool read_only = is_read_only(tensor);
  if (tensor.tensor.device.type >= first_own_number) {
    return unsupported("dlpack_export: the tensor is on device number ", tensor.tensor.device.type,
                       " of this runtime, which DLPack does not number")
        .with_reason("DLPACK_DEVICE");
  }
  if (max_major >= kMajor)
    return static_cast<void*>(new_managed_versioned(tensor.header, read_only ? kReadOnly : 0));
  if (read_only) {
    return invalid("dlpack_export: the memory is read-only, which a DLManagedTensor cannot state")
        .with_reason("READ_ONLY");
  }
  return static_cast<void*>(new_managed(tensor.header));
}

}  // namespace gantry::dlpack
