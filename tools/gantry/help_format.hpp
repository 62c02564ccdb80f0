// SPDX-License-Identifier: Apache-2.0
//
// The format of --help.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace gantry::cli {

// Lists the global options in the help of every sub-command, which accepts them too.
class HelpFormat : public CLI::Formatter {
 public:
  // The part after a command's own options.
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
};

}  // namespace gantry::cli
