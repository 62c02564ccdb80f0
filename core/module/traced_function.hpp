// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/span.hpp"

#include <gantry/function.h>
#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// Wraps a function so that each call is recorded as a span of category "call". Only used if the
// runtime traces, so that calls cost nothing more otherwise.
//
// function  [in]  owned by the result; after a failure by the caller
// name      [in]  name of the spans; copied
// recorder  [in]  borrowed, must outlive the function
// returns   exhausted
Result<gantry_function> traced_function(const gantry_function& function, std::string_view name,
                                        TraceRecorder& recorder);

}  // namespace gantry
