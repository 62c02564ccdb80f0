// SPDX-License-Identifier: Apache-2.0
//
// Runs a program to completion and captures its output.
#pragma once

#include "core/base/find_program.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

struct ProgramEnd {
  // valid if `signal` is 0
  int exit_status = 0;
  // the signal that ended the program; 0: it exited
  int signal = 0;
  // stdout and stderr in order of arrival, the first `max_output` bytes
  std::string output;
  // size of the output beyond `max_output`
  std::uint64_t dropped_bytes = 0;
};

// Runs a program with an empty standard input and the environment of this process.
//
// words       [in]   program and arguments, without a shell
// directory   [in]   working directory of the program
// max_output  [in]   bytes of output to keep; the rest is read and dropped, so that the program
//                    never blocks on a full pipe
// search      [in]   finds the program, before the working directory is changed. Its path replaces
//                    PATH in the environment of the program, without relative directories
// temporary   [in]   replaces TMPDIR in the environment of the program; empty: it is inherited
// returns     unavailable, with errno, if the program cannot be started. A program that starts and
//             fails is a success with a nonzero exit status or a signal. The failures of
//             find_program()
Result<ProgramEnd> run_program(const std::vector<std::string>& words,
                               const std::filesystem::path& directory, std::size_t max_output,
                               const ProgramSearch& search = {},
                               const std::filesystem::path& temporary = {});

}  // namespace gantry
