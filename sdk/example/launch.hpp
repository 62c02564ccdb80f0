// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel: arguments are checked here, the work is done by the stream.
#pragma once

#include "payload.hpp"

#include <gantry/function.h>

#include <span>

namespace abacus {

class Plugin;

// Enqueues the kernel and returns.
//
// kernel   [in]   valid as long as its module: the work copies what it needs of it
// args     [in]   its parameters, then one integer for each launch tag
// returns  INVALID  see gantry::KernelCall; memory that is not the device's
gantry::Status launch(const Plugin& plugin, const Kernel& kernel, const gantry_env& env,
                      std::span<const gantry_value> args);

}  // namespace abacus
