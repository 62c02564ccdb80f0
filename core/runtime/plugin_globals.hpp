// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/module/function.hpp"

#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

struct RuntimeState;

// Looks a function up among those that plugins offer to compiled code (gantry/globals.h): opens the
// plugins whose manifests offer the name, in the order of choice, until one has it.
//
// returns  NULL with OK: no plugin offers the name; not_found: those that offer it do not have it;
//          the error of the last plugin that fails, where no other has it
// thread   any
Result<Ref<FunctionObject>> find_plugin_global(RuntimeState& state, std::string_view name);

}  // namespace gantry
