// SPDX-License-Identifier: Apache-2.0
//
// Interface of the sub-commands: each adds its options to the parser, and sets the action that runs
// after parsing.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace gantry::cli {

// Options that are accepted before and after every sub-command.
struct Globals {
  std::string config;
  std::vector<std::string> plugins;
  int threads = 0;
  // level; empty: as configured
  std::string log;
  bool quiet = false;
};

struct Invocation {
  Globals globals;
  // set by the sub-command that was parsed; returns the exit status
  std::function<int()> action;
};

void add_inspect(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_plugins(CLI::App& app, Invocation& invocation);
void add_devices(CLI::App& app, Invocation& invocation);
void add_pack(CLI::App& app, Invocation& invocation);
void add_version(CLI::App& app, Invocation& invocation);

// The output of `gantry version`, without the final line break.
std::string version_text();

}  // namespace gantry::cli
