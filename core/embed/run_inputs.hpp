// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/model_state.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <vector>

namespace gantry {

// Returns the inputs of a run in the order of the function's inputs, borrowed.
//
// returns  invalid, see gantry_embed::run
Result<std::vector<gantry_value>> ordered_inputs(const FunctionState& function,
                                                 const gantry_run& run);

// Checks that a tensor has a dtype and a shape.
//
// type_text [in]  for messages, as title: "float32[n, 64]"
// title    [in]   for messages: `input "x" of the model`
// returns  invalid, reason ARGUMENT_DTYPE or ARGUMENT_SHAPE
Status check_type(const gantry_tensor& tensor, const TensorType& type, std::string_view type_text,
                  std::string_view title);

}  // namespace gantry
