// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/span.hpp"

#include <gantry/function.h>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// A function whose calls are spans of category "call". Made where a runtime traces only: elsewhere
// a call costs what it costs.
//
// function  [in]  owned by what is made; on failure the caller keeps it
// name      [in]  of the span; copied
// recorder  [in]  borrowed, outlives the function
// returns   exhausted
Result<gantry_function> traced_function(const gantry_function& function, std::string_view name,
                                        TraceRecorder& recorder);

}  // namespace gantry
