// SPDX-License-Identifier: Apache-2.0
//
// DLPack's structs, whose tensor is a gantry_tensor, and their conversion to and from tensor objects
// over the same memory.
//
// source   https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include "core/base/pin.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/result.hpp>

#include <cstdint>

// An exchange format of other libraries, with their names.
extern "C" {
struct DLManagedTensor {
  gantry_tensor tensor;
  void* manager;
  // Frees the struct and what it owns. May be NULL.
  void (*deleter)(DLManagedTensor* self);
};
struct DLManagedTensorVersioned {
  std::uint32_t major, minor;
  void* manager;
  // As above.
  void (*deleter)(DLManagedTensorVersioned* self);
  // kReadOnly, ...
  std::uint64_t flags;
  gantry_tensor tensor;
};
}

namespace gantry::dlpack {

constexpr std::uint32_t kMajor = 1;
constexpr std::uint64_t kReadOnly = 1;
// Elements below a byte have one each, DLPack 1.1.
constexpr std::uint64_t kSubBytePadded = 4;

// A tensor of one of the two forms; the other is NULL.
struct Managed {
  DLManagedTensorVersioned* versioned;
  DLManagedTensor* plain;

  const gantry_tensor& tensor() const {
    return versioned != nullptr ? versioned->tensor : plain->tensor;
  }
};

// returns  unsupported  another version (DLPACK_VERSION), or padded elements (DLPACK_PADDED)
Status check_form(const Managed& managed);

// Creates a tensor that owns a struct.
//
// what     [in]   its tensor, perhaps with another device
// kept     [in]   kept alive with it
// returns  as tensor_view(): the struct is then the caller's
Result<Ref<TensorObject>> own_managed(const Managed& managed, const gantry_tensor& what, Pin kept);

// Creates a struct that retains a tensor object until its deleter is called. Its strides are explicit.
//
// tensor   [in]   of kind GANTRY_TENSOR, of any creator
DLManagedTensor* new_managed(gantry_object& tensor);
DLManagedTensorVersioned* new_managed_versioned(gantry_object& tensor, std::uint64_t flags);

// True if the memory was imported and is read-only.
bool is_read_only(const TensorObject& tensor);

}  // namespace gantry::dlpack
