// SPDX-License-Identifier: Apache-2.0
//
// Copies between devices, with a span of each in the runtime's trace.
#pragma once

#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/result.hpp>

namespace gantry {

// As tensor_copy().
Status traced_copy(const RuntimeState& runtime, const gantry_tensor& from, const gantry_tensor& to,
                   const gantry_env* env, HostSide host_side = HostSide::waits);

}  // namespace gantry
