// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/embed.h>

#include <nanobind/nanobind.h>

namespace gantry::python {

// Returns a sink that calls `write(level, line)` with the GIL, on the thread that writes the line.
// Lines go to stderr once the interpreter has begun to end.
//
// write    [in]   None: the sink is empty, and the log goes to stderr
gantry_log_sink log_sink(nanobind::object write);

}  // namespace gantry::python
