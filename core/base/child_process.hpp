// SPDX-License-Identifier: Apache-2.0
//
// One program, run to its end, and what it said.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

struct ProgramEnd {
  // where `signal` is 0
  int exit_status = 0;
  // that ended it; 0: it ended by itself
  int signal = 0;
  // both of its output streams, the first `most_output` bytes
  std::string output;
  // of the output, past those
  std::uint64_t dropped_bytes = 0;
};

// words        [in]   program and arguments; a program without '/' is looked up in PATH.  No shell looks at them
// directory       [in]   where it works
// most_output  [in]   bytes of output kept; the rest is read and dropped, so that the program never waits for us
// returns  unavailable, with errno, where it cannot be started; its own failure is no failure of ours
// note     standard input is empty; the environment is inherited unread
Result<ProgramEnd> run_program(const std::vector<std::string>& words,
                               const std::filesystem::path& directory, std::size_t max_output);

}  // namespace gantry
