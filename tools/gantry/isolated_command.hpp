// SPDX-License-Identifier: Apache-2.0
//
// The hidden command that makes calls of plugins and artifacts for another command, in a process of
// its own.
//
//     gantry __isolated WORD...      words of IsolatedCommand
#pragma once

#include "tools/gantry/command.hpp"

#include "core/base/process.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct IsolatedCommand {
  // a name of IsolatedWork: "devices"
  std::string work = {};
  Globals globals = {};
  // manifests of plugins that the command does not use
  std::vector<std::string> excluded = {};
  // artifact
  std::string file = {};
  // of containers of the file
  std::vector<std::string> prefixes = {};
  // what each call is about; empty: there is one call
  std::vector<std::string> items = {};
  // process id of the command, with which the calls end; start_of() sets it
  int parent = 0;
};

// Makes the call for an item, or the only one; returns its answer.
using IsolatedCall = std::function<std::string(std::size_t item)>;

// What is called. `prepare` runs no code of a plugin or an artifact; the call may borrow the command,
// which is valid until the process ends.
struct IsolatedWork {
  std::string_view name;
  Result<IsolatedCall> (*prepare)(const IsolatedCommand& command, const Runtime& runtime);
};

// Returns the program that executes the hidden command, for run_isolated().
//
// returns  unavailable: the file of this program is unknown
Result<ProgramStart> start_of(IsolatedCommand command);

// The manifests of plugins that this command has excluded.
std::vector<std::string> excluded_manifests(const PluginSet& plugins);

// True for the first word of the hidden command. It handles no signal.
bool is_isolated_command(std::string_view word);

// Makes the calls.
//
// words    [in]   after the name of the hidden command
// returns  invalid: no such words; unavailable: the calls cannot be prepared
Result<ExitStatus> run_isolated_command(std::span<char*> words);

}  // namespace gantry::cli
