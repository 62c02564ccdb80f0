// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.hpp"

#include <gantry/result.hpp>

namespace gantry {

// Returns a compact copy of a tensor with strides.
//
// from     [in]   on the CPU; its elements are valid memory
// returns  exhausted
Result<Ref<TensorObject>> compact_copy(const gantry_tensor& from, const DeviceSet& devices);

}  // namespace gantry
