// SPDX-License-Identifier: Apache-2.0
//
// The hidden commands, by which the command line describes itself. Help does not list them, nor the
// one of isolated_command.hpp.
//
//     gantry __complete -- WORD...   prints completions of the last word, for the shells' scripts
//     gantry __man DIRECTORY         writes a man page for each command, for the build
#pragma once

#include "tools/gantry/common/command_text.hpp"
#include "tools/gantry/common/exit_status.hpp"

#include <gantry/result.hpp>

#include <CLI/CLI.hpp>

#include <span>
#include <string_view>

namespace gantry::cli {

// Returns the commands and options that the parser accepts.
CommandText describe(const CLI::App& app);

bool is_hidden_command(std::string_view name);

// root     [in]   with all commands
// words    [in]   the name of the hidden command and its arguments
Result<ExitStatus> run_hidden_command(const CLI::App& root, std::span<char*> words);

}  // namespace gantry::cli
