// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/embed.h>
#include <gantry/result.hpp>
#include <gantry/runtime.hpp>

namespace gantry {

// Converts the options of a runtime. Takes options->log over, also if it fails.
//
// given    [in]   may be NULL
// returns  invalid or unsupported, see gantry_embed::runtime_new
Result<RuntimeOptions> runtime_options(const gantry_runtime_options* given);

}  // namespace gantry
