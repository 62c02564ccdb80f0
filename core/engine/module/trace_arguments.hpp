// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a call as those of its span.
#pragma once

#include "core/base/trace/span.hpp"

#include <gantry/value.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry {

// A number or a text; nullopt: another value.
std::optional<TraceValue> trace_value(const gantry_value& value);

// Tensors, numbers and texts, with the names "arg0", "arg1", by position. Others are left out; all, if memory is
// exhausted.
std::vector<TraceArgument> trace_arguments(const gantry_value* args, std::int32_t count) noexcept;

}  // namespace gantry
