// SPDX-License-Identifier: Apache-2.0
//
// Runs the built command-line program in the directory of golden files.
#pragma once

#include "tests/support/built_plugins.hpp"

#include <string>
#include <vector>

namespace gantry::test {

struct Outcome {
  // exit status; 128 + n after signal n
  int status = -1;
  std::string out, err;
};

// args         without the program's name
// environment  "NAME=value", added to a few fixed variables or in place of one. The environment of
//              the test is not inherited, and only plugins that the test names are found.
Outcome run_gantry(const std::vector<std::string>& args,
                   const std::vector<std::string>& environment = {});

// The same with a copy of the program at another path.
Outcome run_gantry_at(const std::string& program, const std::vector<std::string>& args,
                      const std::vector<std::string>& environment = {});

// The same with stdout redirected to a file or device; `out` of the outcome is empty.
Outcome run_gantry_into(const std::string& out, const std::vector<std::string>& args,
                        const std::vector<std::string>& environment = {});

// The same on a terminal of 80 columns; `out` of the outcome is everything that the terminal
// received.
Outcome run_gantry_on_terminal(const std::vector<std::string>& args,
                               const std::vector<std::string>& environment = {});

// The same with the plugin for graphs and no other one.
inline Outcome with_graph(std::vector<std::string> args,
                          const std::vector<std::string>& environment = {}) {
  args.insert(args.begin(), {"--plugins", built_plugins("graph")});
  return run_gantry(args, environment);
}

}  // namespace gantry::test
