// SPDX-License-Identifier: Apache-2.0
//
// gantry-probe opens one plugin, creates it and counts its devices, so that its defects end this
// process instead of one that serves models. The core starts it (core/plugins/probe) and reads records from
// descriptor 3. It trusts the same files as the core that starts it.
#pragma once

namespace gantry::probe {

// Ends the process with _exit(), so that no destructor of the plugin runs; returns only for wrong usage.
//
// argc, argv  [in]  of main(): read_probe_arguments(), core/plugins/probe/run_probe.hpp
//
// returns  2: wrong usage, reported on stderr
int run_program(int argc, char** argv);

}  // namespace gantry::probe
