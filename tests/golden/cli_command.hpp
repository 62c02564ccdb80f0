// SPDX-License-Identifier: Apache-2.0
//
// Runs the built command line as a user does, from the directory of golden files.
#pragma once

#include <string>
#include <vector>

namespace gantry::test {

struct Outcome {
  // exit status; 128 + n after signal n
  int status = -1;
  std::string out, err;
};

// args         without the program's name
// environment  "NAME=value", added to a few fixed variables: nothing of ours leaks in, and no plugin
//              but those that a test names is found
Outcome run_gantry(const std::vector<std::string>& args,
                   const std::vector<std::string>& environment = {});

// The same with stdout written to a file or device that is not read again: `out` of the outcome is empty.
Outcome run_gantry_into(const std::string& out, const std::vector<std::string>& args,
                        const std::vector<std::string>& environment = {});

// The same on a terminal of 80 columns: `out` of the outcome is all that the terminal was sent, as it was sent.
Outcome run_gantry_on_terminal(const std::vector<std::string>& args,
                               const std::vector<std::string>& environment = {});

// The plugins that this build made: for tests that run artifacts.
std::string built_plugins();

}  // namespace gantry::test
