// SPDX-License-Identifier: Apache-2.0
//
// The families of functions that the host offers by name: gantry/threads.h, gantry/trace.h.
#pragma once

#include <gantry/host.h>

namespace gantry {

// returns  a static table, or NULL for a name that this core does not know
const void* host_extension(const gantry_host* host, const char* id);

}  // namespace gantry
