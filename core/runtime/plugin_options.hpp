// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/manifest/config_values.hpp"
#include "core/runtime/state.hpp"

#include <vector>

namespace gantry {

// Resolves the options that a plugin of this runtime gets: those of its manifest and drop-ins, the
// configuration and the environment, each with its source.
//
// warnings [out]  see resolve_config()
// returns  the errors of resolve_config()
Result<std::vector<ConfigValue>> plugin_options(const RuntimeState& state, const Manifest& manifest,
                                                std::vector<Message>& warnings);

}  // namespace gantry
