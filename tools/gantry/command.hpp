// SPDX-License-Identifier: Apache-2.0
//
// Interface of the sub-commands: each adds its options to the parser, and sets the action that runs
// after parsing.
#pragma once

#include "tools/gantry/common/exit_status.hpp"

#include <gantry/result.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gantry::cli {

// Options that are accepted before and after every sub-command.
struct Globals {
  std::string config;
  std::vector<std::string> plugins;
  int threads = 0;
  // microseconds; -1: as configured
  int spin_us = -1;
  // level; empty: as configured
  std::string log;
  bool quiet = false;

  // -v: show the details of problems, too.
  bool verbose() const { return log == "info" || log == "debug"; }
};

struct Invocation {
  Globals globals;
  // set by the sub-command that was parsed
  std::function<Result<ExitStatus>()> action;
};

// Sets `run` as the action if `command` is the one that was parsed.
template <class Options>
void set_action(CLI::App& command, Invocation& invocation, std::shared_ptr<Options> options,
                Result<ExitStatus> (*run)(const Options&, const Globals&)) {
  command.callback([=, &invocation] {
    invocation.action = [=, &invocation] { return run(*options, invocation.globals); };
  });
}

void add_inspect(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_report(CLI::App& app, Invocation& invocation);
void add_plugins(CLI::App& app, Invocation& invocation);
// Adds `plugins doctor`.
void add_doctor(CLI::App& plugins, Invocation& invocation);
// Add `plugins install` and `plugins remove`.
void add_install(CLI::App& plugins, Invocation& invocation);
void add_remove(CLI::App& plugins, Invocation& invocation);
// Adds `plugins new`.
void add_new(CLI::App& plugins, Invocation& invocation);
void add_plugins_explain(CLI::App& plugins, Invocation& invocation);
void add_plugins_reasons(CLI::App& plugins, Invocation& invocation);
// Adds `plugins check`.
void add_plugins_check(CLI::App& plugins, Invocation& invocation);
// Adds `plugins lock` and `plugins verify`.
void add_plugins_lock(CLI::App& plugins, Invocation& invocation);
void add_plugins_verify(CLI::App& plugins, Invocation& invocation);
// Adds `plugins clear`.
void add_plugins_clear(CLI::App& plugins, Invocation& invocation);
void add_devices(CLI::App& app, Invocation& invocation);
void add_targets(CLI::App& app, Invocation& invocation);
void add_pack(CLI::App& app, Invocation& invocation);
void add_repack(CLI::App& app, Invocation& invocation);
// Adds `mlf` and its commands.
void add_mlf(CLI::App& app, Invocation& invocation);
void add_mlf_export(CLI::App& mlf, Invocation& invocation);
void add_mlf_show(CLI::App& mlf, Invocation& invocation);
void add_mlf_validate(CLI::App& mlf, Invocation& invocation);
void add_version(CLI::App& app, Invocation& invocation);
void add_completion(CLI::App& app, Invocation& invocation);
// Adds `help`, after all other commands.
void add_help(CLI::App& app, Invocation& invocation);

// The full name of a command: "gantry plugins list".
std::string words_to(const CLI::App& innermost);
// `unknown command "rnu", did you mean "run"`, or with a list of the commands.
std::string unknown_command_text(const CLI::App& parent, const std::string& word);

// The output of `gantry version`, without the final line break.
std::string version_text();

}  // namespace gantry::cli
