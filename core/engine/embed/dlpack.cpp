// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/dlpack.hpp"

#include "core/engine/runtime/devices.hpp"
#include "core/engine/tensor/stream_order.hpp"

#include <gantry/device_name.hpp>
#include <gantry/tensor_text.hpp>

#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::dlpack {
namespace {

static_assert(sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80);

// The tensor that an imported one was made from.
struct Imported {
  Managed managed;
  bool is_read_only;

  void destroy() const {
    const auto& [versioned, plain] = managed;
    if (versioned != nullptr && versioned->deleter != nullptr) versioned->deleter(versioned);
    if (plain != nullptr && plain->deleter != nullptr) plain->deleter(plain);
  }
};

constexpr gantry_object_type imported_type = {
    .struct_size = sizeof(gantry_object_type),
    .flags = 0,
    .name = "gantry.ImportedTensor",
    .destroy = [](void* self) {
      const std::unique_ptr<Imported> imported(static_cast<Imported*>(self));
      imported->destroy();
    }};

// A struct for a consumer, with the tensor that owns the memory.
template <class Struct>
struct Exported {
  Struct managed{};
  Ref<TensorObject> owner;
  std::vector<std::int64_t> extents;
};

// Numbers of devices that DLPack assigns are below those that a runtime assigns.
constexpr std::int32_t first_own_number = 64;

template <class Struct>
Result<std::unique_ptr<Exported<Struct>>> exported(TensorObject& tensor) {
  auto made = std::make_unique<Exported<Struct>>();
  made->owner = Ref<TensorObject>::share(&tensor);
  gantry_tensor& out = made->managed.tensor;
  out = tensor.tensor;
  // Consumers of version 1.2 expect strides.
  const auto shape = shape_of(tensor.tensor);
  made->extents.assign(shape.begin(), shape.end());
  made->extents.resize(2 * shape.size());
  const std::span<std::int64_t> strides = std::span(made->extents).subspan(shape.size());
  std::int64_t next = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; next *= shape[axis])
    strides[axis] = out.strides != nullptr ? out.strides[axis] : next;
  out.shape = made->extents.data();
  out.strides = strides.data();
  made->managed.manager = made.get();
  made->managed.deleter = [](Struct* self) {
    delete static_cast<Exported<Struct>*>(self->manager);
  };
  return made;
}

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
  const auto& [versioned, plain] = managed;
  if (versioned != nullptr && versioned->major != kMajor) {
    return unsupported("dlpack_import: the tensor has version ", versioned->major, ".",
                       versioned->minor, " of DLPack, this version reads ", kMajor)
        .with_reason("DLPACK_VERSION");
  }
  gantry_tensor what = versioned != nullptr ? versioned->tensor : plain->tensor;
  if (versioned != nullptr && (versioned->flags & kSubBytePadded) != 0 && is_packed(what.dtype)) {
    return unsupported("dlpack_import: the elements of ", tensor_text(what),
                       " are padded to a byte each, expected the packed form")
        .with_reason("DLPACK_PADDED");
  }
  if (what.device.type == kCudaHost) what.device = {kCpu, 0};
  GANTRY_TRY(const auto device, state.device(what.device.type));
  const std::string name = concat(device->name, ":", what.device.index);
  GANTRY_CHECK(device_at(*device, what.device.index, name));
  if (streams != nullptr) GANTRY_CHECK(order(*device, what.device, name, *streams));
  const bool is_read_only = versioned != nullptr && (versioned->flags & kReadOnly) != 0;
  // Without its tensors at first: a failure from here on leaves them to the caller.
  auto imported = std::make_unique<Imported>();
  GANTRY_TRY(const ObjectPtr owner, new_opaque(&imported_type, imported.get(), state.life()));
  Imported& kept = *imported.release();
  GANTRY_TRY(Ref<TensorObject> tensor, tensor_view(what, owner.get()));
  kept = {managed, is_read_only};
  return tensor;
}

Result<void*> export_tensor(TensorObject& tensor, std::uint32_t max_major) {
  const bool read_only = is_read_only(tensor);
  if (tensor.tensor.device.type >= first_own_number) {
    return unsupported("dlpack_export: the tensor is on device number ", tensor.tensor.device.type,
                       " of this runtime, which DLPack does not number")
        .with_reason("DLPACK_DEVICE");
  }
  if (max_major >= kMajor) {
    GANTRY_TRY(auto made, exported<DLManagedTensorVersioned>(tensor));
    made->managed.major = kMajor;
    made->managed.flags = read_only ? kReadOnly : 0;
    return static_cast<void*>(&made.release()->managed);
  }
  if (read_only) {
    return invalid("dlpack_export: the memory is read-only, which a DLManagedTensor cannot state")
        .with_reason("READ_ONLY");
  }
  GANTRY_TRY(auto made, exported<DLManagedTensor>(tensor));
  return static_cast<void*>(&made.release()->managed);
}

bool is_read_only(const TensorObject& tensor) {
  // A view of an imported tensor has that tensor as its owner.
  const gantry_object* owner = tensor.owner.get();
  while (owner != nullptr && owner->kind == GANTRY_TENSOR)
    owner = reinterpret_cast<const TensorObject*>(owner)->owner.get();
  if (owner == nullptr) return false;
  const auto imported = opaque_self(owner, &imported_type);
  return imported.ok() && static_cast<const Imported*>(*imported)->is_read_only;
}

}  // namespace gantry::dlpack
