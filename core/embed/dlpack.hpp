// SPDX-License-Identifier: Apache-2.0
//
// DLPack's structs, whose tensor is a gantry_tensor, and their conversion.
//
// source   https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include "core/runtime/state.hpp"
#include "core/tensor/tensor.hpp"

#include <gantry/embed.h>
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
// Memory of the host that CUDA has locked.
constexpr std::int32_t kCudaHost = 3;

// See gantry_embed::dlpack_import. One of the two is NULL.
Result<Ref<TensorObject>> import_tensor(RuntimeState& state, DLManagedTensorVersioned* versioned,
                                        DLManagedTensor* plain);

// See gantry_embed::dlpack_export. The work on the memory is complete.
//
// max_major  [in]  0: the result is a DLManagedTensor*
Result<void*> export_tensor(TensorObject& tensor, std::uint32_t max_major);

// True if the memory was imported and is read-only.
bool is_read_only(const TensorObject& tensor);

}  // namespace gantry::dlpack
