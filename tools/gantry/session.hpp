// SPDX-License-Identifier: Apache-2.0
//
// A runtime with the global options, for the sub-commands.
#pragma once

#include "tools/gantry/command.hpp"

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Finds plugins, opens none. `--quiet` leaves only errors in the log.
Result<Runtime> open_runtime(const Globals& globals, bool trace = false);

// Waits until the work in the default streams of these devices is done.
Status synchronize(const Runtime& runtime, std::span<const gantry_device_id> devices);

}  // namespace gantry::cli
