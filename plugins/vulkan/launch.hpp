// SPDX-License-Identifier: Apache-2.0
//
// A call of a kernel: values to bindings, scalars and a grid, recorded in the device's order of work.
#pragma once

#include "module.hpp"

#include <gantry/function.h>

namespace gantry::vulkan {

// Records one call; nothing waits.
//
// args     [in]   the kernel's parameters, then one integer for each launch tag
// returns  INVALID      arguments that the kernel does not take: their number, kind, range (ARGUMENT_*); memory that is
//                       not the device's (HANDLE); threads in a block other than the shader has, blocks past what the
//                       device runs (LAUNCH_EXTENT)
//          UNSUPPORTED  a buffer that the device cannot bind: too large, or at such an offset (BUFFER_RANGE)
//          what Module::pipeline() says
// thread   any, in parallel
Status launch(LoadedKernel& kernel, const gantry_env& env, std::span<const gantry_value> args);

// Its self is a LoadedKernel, which belongs to the module.
extern const gantry_function_table launch_table;

}  // namespace gantry::vulkan
