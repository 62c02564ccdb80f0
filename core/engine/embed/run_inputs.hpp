// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry {

// The inputs of a run in the order of the function's inputs.
struct OrderedInputs {
  // borrowed from the caller or from `copies`
  std::vector<gantry_value> values;
  // compact copies of tensors with strides
  std::vector<Value> copies;
};

// env      [in]   its stream is used to read a tensor on env->device; NULL: the default stream
// copies   [in,out] counts the compact copies
// returns  invalid, see gantry_embed::run; exhausted; an error of a device
Result<OrderedInputs> ordered_inputs(const FunctionState& function, const gantry_run& run,
                                     const RuntimeState& runtime, const gantry_env* env,
                                     InputCopies& copies);

}  // namespace gantry
