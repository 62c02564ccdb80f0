// SPDX-License-Identifier: Apache-2.0
//
// Prepares the modules of a file for devices: compiles and loads their code before the first call.
#pragma once

#include <gantry/module.h>
#include <gantry/result.hpp>

#include <functional>
#include <span>

namespace gantry {

struct ModuleNode;

// Calls `prepare` of each bound module that is reachable from `root`, for those of the devices on
// which its functions run; for the CPU if they run on the host. A module whose kind of device is
// none of these is left as it is. Modules that cannot be prepared have nothing to do.
//
// devices      [in]   of the model
// env          [in]   task
// is_cancelled [in]   asked before each module
// returns  CANCELLED  the task was cancelled
//          others     the error of the first module that fails; all others are prepared, too
// thread   any, in parallel with calls
// costs    up to minutes; plugins announce it
Status prepare_modules(ModuleNode& root, std::span<const gantry_device_id> devices,
                       const gantry_env& env, const std::function<bool()>& is_cancelled);

}  // namespace gantry
