// SPDX-License-Identifier: Apache-2.0
//
// DLPack tensors of a runtime's devices and streams.
#pragma once

#include "core/engine/embed/stream.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/managed_tensor.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <cstdint>

namespace gantry::dlpack {

// Memory of the host that CUDA has locked.
constexpr std::int32_t kCudaHost = 3;

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

}  // namespace gantry::dlpack
