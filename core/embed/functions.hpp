// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/state.hpp"

#include <gantry/function.h>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// See gantry_embed::function_add.
//
// runtime  [in]   NULL: the function is destroyed
// function [in]   taken over, also after a failure
Status add_function(RuntimeState* runtime, std::string_view name, const gantry_function& function);

}  // namespace gantry
