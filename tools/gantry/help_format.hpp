// SPDX-License-Identifier: Apache-2.0
//
// How --help looks.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace gantry::cli {

// A sub-command's help lists the global options too, for they may stand behind it: who is sent there finds them.
class HelpFormat : public CLI::Formatter {
 public:
  // What comes behind a command's own options.
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
};

}  // namespace gantry::cli
