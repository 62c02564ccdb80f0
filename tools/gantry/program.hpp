// SPDX-License-Identifier: Apache-2.0
//
// The command gantry: inspects, runs, measures and builds artifacts.
#pragma once

namespace gantry::cli {

// Runs the command that the words name. Changes actions of signals: the process is the command's.
//
// argc, argv  [in]  of main()
//
// returns  the exit status: 0 success, 1 the command failed, 2 wrong usage, 3 internal error of gantry,
// 4 the time of --timeout has passed
int run_program(int argc, char** argv);

}  // namespace gantry::cli
