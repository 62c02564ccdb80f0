// SPDX-License-Identifier: Apache-2.0
//
// The programs of the Python package, as functions of its library. Parameters and results are those of
// main().
#ifndef GANTRY_PYTHON_PROGRAMS_H
#define GANTRY_PYTHON_PROGRAMS_H

#include <gantry/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

// The command gantry.
GANTRY_EXPORT int gantry_command(int argc, char** argv);

// gantry-probe, which the core starts.
GANTRY_EXPORT int gantry_probe(int argc, char** argv);

#ifdef __cplusplus
}
#endif

#endif
