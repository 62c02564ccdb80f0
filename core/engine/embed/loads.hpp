// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/module/module.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>
#include <gantry/runtime.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace gantry {

// Reads the options of a load.
//
// given    [in]   may be NULL
Result<LoadOptions> load_options(const gantry_load_options* given);

// See gantry_embed::load_memory and load_reader.
//
// name     [in]   for messages; empty: one that says where the artifact is
Result<Module> load_bytes(Runtime& runtime, std::span<const std::uint8_t> bytes,
                          const std::string& name, const LoadOptions& options);
Result<Module> load_read(Runtime& runtime, const gantry_reader& reader, const std::string& name,
                         const LoadOptions& options);

// See gantry_embed::module_bind_missing.
Status bind_missing(ModuleNode& module);

}  // namespace gantry
