// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/state.hpp"
#include "core/plugins/manifest/config_values.hpp"

#include <cstdint>
#include <vector>

namespace gantry {

// Resolves the options that a plugin of this runtime gets: those of its manifest and drop-ins, the
// configuration and the environment, each with its source.
//
// warnings [out]  see resolve_config()
// returns  the errors of resolve_config()
Result<std::vector<ConfigValue>> plugin_options(const RuntimeState& state, const Manifest& manifest,
                                                std::vector<Message>& warnings);

// Returns digest_of() these options; if they cannot be resolved, a digest of the reason, because the
// text of the error has the paths of files as the program spells them.
std::uint64_t plugin_options_digest(const RuntimeState& state, const Manifest& manifest);

// Returns the variables that the options of usable plugins name in ${env:NAME}, and that are set
// and ignored: this process is elevated, or the configuration denies its environment. Sorted
// bytewise and unique.
//
// costs    resolves the options of every usable plugin if variables are ignored
std::vector<std::string> ignored_variables(const RuntimeState& state);

}  // namespace gantry
