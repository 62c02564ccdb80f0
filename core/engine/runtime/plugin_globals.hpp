// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/module/function.hpp"

#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

struct RuntimeState;

// Looks up a function that plugins provide to compiled code (gantry/globals.h). Opens the plugins
// whose manifests list the name, in order of preference, until one has the function.
//
// returns  NULL with OK: no manifest lists the name; not_found: the plugins that list it do not
//          have it; the error of the last plugin that fails, if no other one has it
// thread   any
Result<Ref<FunctionObject>> find_plugin_global(RuntimeState& state, std::string_view name);

}  // namespace gantry
