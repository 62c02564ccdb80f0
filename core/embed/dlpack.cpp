// SPDX-License-Identifier: Apache-2.0
#include "core/embed/dlpack.hpp"

#include "core/runtime/devices.hpp"

#include <gantry/tensor_text.hpp>

#include <memory>
#include <new>
#include <span>
#include <vector>

namespace gantry::dlpack {
namespace {

static_assert(sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80);

// The tensor that an imported one was made from.
struct Imported {
  DLManagedTensorVersioned* versioned;
  DLManagedTensor* plain;
  bool is_read_only;

  void destroy() const {
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
template <class Managed>
struct Exported {
  Managed managed{};
  Ref<TensorObject> owner;
  std::vector<std::int64_t> extents;
};

// Numbers of devices that DLPack assigns are below those that a runtime assigns.
constexpr std::int32_t first_own_number = 64;

template <class Managed>
Result<std::unique_ptr<Exported<Managed>>> exported(TensorObject& tensor) {
  auto made = std::make_unique<Exported<Managed>>();
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
  made->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->manager);
  };
  return made;
}

}  // namespace

Result<Ref<TensorObject>> import_tensor(RuntimeState& state, DLManagedTensorVersioned* versioned,
                                        DLManagedTensor* plain) {
  if (versioned != nullptr && versioned->major != kMajor) {
    return unsupported("dlpack_import: the tensor has version ", versioned->major, ".",
                       versioned->minor, " of DLPack, this version reads ", kMajor)
        .with_reason("DLPACK_VERSION");
  }
  gantry_tensor what = versioned != nullptr ? versioned->tensor : plain->tensor;
  if (what.device.type == kCudaHost) what.device = {kCpu, 0};
  GANTRY_TRY(const auto device, state.device(what.device.type));
  GANTRY_CHECK(device_at(*device, what.device.index, concat(device->name, ":", what.device.index)));
  const bool is_read_only = versioned != nullptr && (versioned->flags & kReadOnly) != 0;
  // Without its tensors at first: a failure from here on leaves them to the caller.
  auto imported = std::make_unique<Imported>();
  GANTRY_TRY(const ObjectPtr owner, new_opaque(&imported_type, imported.get(), state.life()));
  Imported& kept = *imported.release();
  GANTRY_TRY(Ref<TensorObject> tensor, tensor_view(what, owner.get()));
  kept = {versioned, plain, is_read_only};
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
