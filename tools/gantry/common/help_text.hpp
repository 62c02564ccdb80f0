// SPDX-License-Identifier: Apache-2.0
//
// The text of --help, from what the parser accepts.
#pragma once

#include "tools/gantry/common/command_text.hpp"
#include "tools/gantry/common/man_page.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gantry::cli {

// No line of the help is longer, but for a word or a line of an example that is.
constexpr std::size_t help_columns = 100;

// Returns the description, usage, arguments, options, commands, exit statuses and footer. Options that
// exclude each other are on the man pages only, and in the errors.
//
// words    [in]   the full name: "gantry plugins list"
// globals  [in]   listed after the command's own options; empty for the program itself
std::string help_text(const CommandText& command, std::string_view words,
                      std::span<const OptionText> globals,
                      std::span<const ManLists::Entry> exit_statuses);

}  // namespace gantry::cli
