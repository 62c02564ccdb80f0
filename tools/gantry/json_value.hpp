// SPDX-License-Identifier: Apache-2.0
//
// Arguments of functions that are written as JSON.
#pragma once

#include "tools/gantry/common/arg_spec.hpp"

#include <gantry/embed.hpp>

namespace gantry::cli {

// Returns arrays, maps, texts, integers, floats and truth values; none for null. The last one of
// equal keys counts.
//
// argument [in]   of parse_arg()
// returns  exhausted
Result<Any> value_of_json(const Runtime& runtime, const JsonArg& argument);

}  // namespace gantry::cli
