// SPDX-License-Identifier: Apache-2.0
//
// Starts a program in a process group of its own.
#pragma once

#include <gantry/result.hpp>

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gantry {

struct ProgramStart {
  std::filesystem::path program;
  // argv, with its name
  std::vector<std::string> words;
  // "PATH=/bin"
  std::vector<std::string> environment;
  // working directory; empty: that of this process
  std::filesystem::path directory = {};
  // of its standard output and error; its standard input is /dev/null
  int output = -1;
  // of its descriptor 3; -1: none
  int report = -1;
  // signals that it blocks
  sigset_t signals = {};
  // Signals that this process ignores have their default action, too.
  bool has_default_signals = false;
};

// Returns the environment of this process with other values of some variables, "PATH=/bin".
std::vector<std::string> environment_with(std::span<const std::string> changed);

// Starts a program. It is killed when the thread that started it ends, unless the program is
// set-user-id or has file capabilities; no handler of fork() runs.
//
// returns  unavailable with errno if it cannot be started
// thread   any; signals of the calling thread are blocked during the call
Result<pid_t> start_program(const ProgramStart& start);

}  // namespace gantry
