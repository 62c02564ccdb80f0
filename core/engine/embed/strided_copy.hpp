// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/tensor/tensor.hpp"

#include <gantry/result.hpp>

namespace gantry {

// Returns a compact copy on the CPU of a tensor with strides.
//
// from     [in]   its elements are valid memory
// env      [in]   the copy is in the stream of the device of `from`; NULL: the default stream
// returns  exhausted; invalid, reason ARGUMENT_RANGE, for elements before the memory of a device with
//          opaque data; an error of the device
// costs    a tensor on another device than the CPU: a copy of all memory from its first to its last
//          element, also of what is between the elements
Result<Ref<TensorObject>> compact_copy(const gantry_tensor& from, const DeviceSet& devices,
                                       const gantry_env* env);

}  // namespace gantry
