// SPDX-License-Identifier: Apache-2.0
//
// The target kinds that plugins declare, and the code generators that they have.
#pragma once

#include "core/formats/target/generator.hpp"
#include "core/formats/target/target_kinds.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

struct RuntimeState;

// Returns the target kinds of the host and of the plugins that can be used according to their
// manifests, in order of preference.
TargetKinds target_kinds(const PluginSet& plugins);

// Opens the code generator of a plugin (gantry/generator.h), which keeps the runtime.
//
// plugin   [in]   an id
// returns  the errors of PluginSet::open(); malformed: the plugin does not have the extension, or its
//          table is wrong
Result<Generator> plugin_generator(RuntimeState& state, std::string_view plugin);

}  // namespace gantry
