// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <span>

namespace gantry {

// Passes the outputs of the last run of a function to the caller: each as an object that no later
// run writes, or in the caller's tensor. The function keeps none of them.
//
// inputs   [in]   of the run
// env      [in]   of the run; NULL: default streams
// run      [in,out] unchanged after a failure, but for the content of tensors in run.outputs
// returns  invalid, see gantry_embed::run; exhausted; the error of a device
Status pass_outputs(RuntimeState& runtime, FunctionState& function,
                    std::span<const gantry_value> inputs, const gantry_env* env, gantry_run& run);

}  // namespace gantry
