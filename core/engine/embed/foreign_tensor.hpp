// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/result.hpp>

#include <cstdint>

namespace gantry {

// Memory of the embedder.
struct ForeignMemory {
  // bytes at the tensor's address
  std::uint64_t size;
  void* self;
  // may be NULL
  void (*destroy)(void* self);
};

// See gantry_embed::tensor_foreign.
Result<Ref<TensorObject>> foreign_tensor(RuntimeState& runtime, const gantry_tensor& what,
                                         const ForeignMemory& memory);

}  // namespace gantry
