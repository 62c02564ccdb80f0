// SPDX-License-Identifier: Apache-2.0
//
// DLPack's structs, whose tensor is a gantry_tensor, and their conversion.
//
// source   https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include "core/engine/embed/stream.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"

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
// Elements below a byte have one each, DLPack 1.1.
constexpr std::uint64_t kSubBytePadded = 4;
// Memory of the host that CUDA has locked.
constexpr std::int32_t kCudaHost = 3;

// A tensor of one of the two forms; the other is NULL.
struct Managed {
  DLManagedTensorVersioned* versioned;
  DLManagedTensor* plain;
};

// The stream whose work writes a tensor, and the one whose later work follows it.
struct Streams {
  // of the device of the tensor; NULL: its default stream
  void* produced;
  // the same
  const StreamObject* stream;
};

// See gantry_embed::dlpack_import and dlpack_import_after.
//
// streams  [in]   NULL: the work that writes the memory is complete
Result<Ref<TensorObject>> import_tensor(RuntimeState& state, const Managed& managed,
                                        const Streams* streams);

// See gantry_embed::dlpack_export. The work on the memory is complete.
//
// max_major  [in]  0: the result is a DLManagedTensor*
Result<void*> export_tensor(TensorObject& tensor, std::uint32_t max_major);

// True if the memory was imported and is read-only.
bool is_read_only(const TensorObject& tensor);

}  // namespace gantry::dlpack
