// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/help_format.hpp"

namespace gantry::cli {

std::string HelpFormat::make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const {
  const std::string commands = CLI::Formatter::make_subcommands(app, mode);
  if (app->get_parent() == nullptr || mode == CLI::AppFormatMode::Sub) return commands;
  const CLI::App* root = app->get_parent();
  while (root->get_parent() != nullptr) root = root->get_parent();
  const auto global = root->get_options([&](const CLI::Option* option) {
    return option->nonpositional() && option != root->get_help_ptr() &&
           option != root->get_version_ptr();
  });
  return make_group("Global options", false, global) + commands;
}

}  // namespace gantry::cli
