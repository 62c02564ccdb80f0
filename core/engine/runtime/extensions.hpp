// SPDX-License-Identifier: Apache-2.0
//
// The extensions of the host, function tables by name: gantry/batch.h, gantry/progress.h,
// gantry/threads.h, gantry/trace.h.
#pragma once

#include <gantry/host.h>

namespace gantry {

// Returns a static table, or NULL for an unknown name.
const void* host_extension(const gantry_host* host, const char* id);

}  // namespace gantry
