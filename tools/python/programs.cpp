// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include "tools/gantry/program.hpp"
#include "tools/probe/program.hpp"

int gantry_command(int argc, char** argv) { return gantry::cli::run_program(argc, argv); }

int gantry_probe(int argc, char** argv) { return gantry::probe::run_program(argc, argv); }
