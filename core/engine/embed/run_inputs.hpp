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

// Checks that a tensor has a dtype and a shape.
//
// type_text [in]  for messages, as title: "float32[n, 64]"
// title    [in]   for messages: `input "x" of the model`
// returns  invalid, reason ARGUMENT_DTYPE or ARGUMENT_SHAPE
Status check_type(const gantry_tensor& tensor, const TensorType& type, std::string_view type_text,
                  std::string_view title);

}  // namespace gantry
