// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/options.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace gantry {

struct RuntimeState;

// Reads the options of a load.
//
// given    [in]   may be NULL
Result<LoadPermissions> load_options(const gantry_load_options* given);

// See gantry_embed::load_reader.
//
// name     [in]   see memory_title()
Result<Ref<ModuleNode>> load_read(RuntimeState& runtime, const gantry_reader& reader,
                                  const std::string& name, const LoadPermissions& allowed);

}  // namespace gantry
