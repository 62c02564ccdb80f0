// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/program.hpp"

int main(int argc, char** argv) { return gantry::cli::run_program(argc, argv); }
