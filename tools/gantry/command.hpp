// SPDX-License-Identifier: Apache-2.0
//
// What every sub-command is given and gives: options of its own to the parser, and what to do once
// they are known. Nothing but the parser runs before that.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace gantry::cli {

// Options that stand before or behind any sub-command.
struct Globals {
  std::string config;
  std::vector<std::string> plugins;
  int threads = 0;
  // level; empty: the configuration's
  std::string log;
  bool quiet = false;
};

struct Invocation {
  Globals globals;
  // returns the exit status; set by the sub-command that was named
  std::function<int()> action;
};

void add_inspect(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_plugins(CLI::App& app, Invocation& invocation);
void add_devices(CLI::App& app, Invocation& invocation);
void add_pack(CLI::App& app, Invocation& invocation);
void add_version(CLI::App& app, Invocation& invocation);

// What `gantry version` says, without a line break at its end.
std::string version_text();

}  // namespace gantry::cli
