// SPDX-License-Identifier: Apache-2.0
//
// A runtime as the global options want it, and what the sub-commands that run things ask of it.
#pragma once

#include "tools/gantry/command.hpp"

#include "core/runtime/runtime.hpp"

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Finds plugins, opens none. `--quiet` leaves only errors in the log.
Result<Runtime> open_runtime(const Globals& globals, bool trace = false);

// Plugins that were opened so far: "gantry.graph 0.1.0".
std::vector<std::string> plugins_in_use(const Runtime& runtime);

// Waits until all work on these devices is done; devices that are always done cost nothing.
Status synchronize(const Runtime& runtime, std::span<const gantry_device_id> devices);

}  // namespace gantry::cli
