// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/managed_tensor.hpp"

#include "core/engine/tensor/compact_strides.hpp"

#include <gantry/tensor_text.hpp>

#include <memory>
#include <span>
#include <utility>
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
  ObjectPtr owner;
  std::vector<std::int64_t> extents;
};

template <class Struct>
Struct* exported(gantry_object& object) {
  auto made = std::make_unique<Exported<Struct>>();
  made->owner = ObjectPtr::share(&object);
  const gantry_value value = value_of(&object);
  const gantry_tensor& tensor = *gantry_value_tensor(&value);
  gantry_tensor& out = made->managed.tensor;
  out = tensor;
  // Consumers of version 1.2 expect strides.
  const auto shape = shape_of(tensor);
  made->extents.assign(shape.begin(), shape.end());
  made->extents.resize(2 * shape.size());
  const std::span<std::int64_t> strides = std::span(made->extents).subspan(shape.size());
  compact_strides(shape, [&](std::size_t axis, std::int64_t compact) {
    strides[axis] = out.strides != nullptr ? out.strides[axis] : compact;
  });
  out.shape = made->extents.data();
  out.strides = strides.data();
  made->managed.manager = made.get();
  made->managed.deleter = [](Struct* self) {
    delete static_cast<Exported<Struct>*>(self->manager);
  };
  return &made.release()->managed;
}

}  // namespace

Status check_form(const Managed& managed) {
  const DLManagedTensorVersioned* const versioned = managed.versioned;
  if (versioned == nullptr) return {};
  if (versioned->major != kMajor) {
    return unsupported("dlpack_import: the tensor has version ", versioned->major, ".",
                       versioned->minor, " of DLPack, this version reads ", kMajor)
        .with_reason("DLPACK_VERSION");
  }
  if ((versioned->flags & kSubBytePadded) != 0 && is_packed(versioned->tensor.dtype)) {
    return unsupported("dlpack_import: the elements of ", tensor_text(versioned->tensor),
                       " are padded to a byte each, expected the packed form")
        .with_reason("DLPACK_PADDED");
  }
  return {};
}

Result<Ref<TensorObject>> own_managed(const Managed& managed, const gantry_tensor& what, Pin kept) {
  const bool is_read_only =
      managed.versioned != nullptr && (managed.versioned->flags & kReadOnly) != 0;
  // Without its tensors at first: a failure from here on leaves them to the caller.
  auto imported = std::make_unique<Imported>();
  GANTRY_TRY(const ObjectPtr owner, new_opaque(&imported_type, imported.get(), std::move(kept)));
  Imported& owned = *imported.release();
  GANTRY_TRY(Ref<TensorObject> tensor, tensor_view(what, owner.get()));
  owned = {managed, is_read_only};
  return tensor;
}

DLManagedTensor* new_managed(gantry_object& tensor) { return exported<DLManagedTensor>(tensor); }

DLManagedTensorVersioned* new_managed_versioned(gantry_object& tensor, std::uint64_t flags) {
  auto* const made = exported<DLManagedTensorVersioned>(tensor);
  made->major = kMajor;
  made->flags = flags;
  return made;
}

bool is_read_only(const TensorObject& tensor) {
  // A view of an imported tensor has that tensor as its owner.
  const gantry_object* owner = tensor.owner.get();
  while (owner != nullptr && is_own_tensor(*owner))
    owner = reinterpret_cast<const TensorObject*>(owner)->owner.get();
  if (owner == nullptr) return false;
  const auto imported = opaque_self(owner, &imported_type);
  return imported.ok() && static_cast<const Imported*>(*imported)->is_read_only;
}

}  // namespace gantry::dlpack
