// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/command_text.hpp"

#include <gantry/join.hpp>

#include <algorithm>

namespace gantry::cli {

bool OptionText::is_called(std::string_view name) const {
  return std::ranges::find(names, name) != names.end();
}

std::string OptionText::title() const {
  if (names.empty()) return value;
  return join(names) + (value.empty() ? "" : " " + value);
}

const CommandText* CommandText::command(std::string_view called) const {
  const auto found = std::ranges::find(commands, called, &CommandText::name);
  return found == commands.end() ? nullptr : &*found;
}

std::vector<OptionText> global_options(const CommandText& root) {
  std::vector<OptionText> options;
  for (const OptionText& option : root.options) {
    if (!option.is_called("--help") && !option.is_called("--version")) options.push_back(option);
  }
  return options;
}

}  // namespace gantry::cli
