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

std::string OptionText::explanation() const {
  std::string text = description;
  const auto is_described = [&](const std::string& choice) {
    return text.find(choice) != text.npos;
  };
  if (!std::ranges::all_of(choices, is_described)) text += "; one of " + join(choices);
  if (!range.empty()) text += "; " + range;
  if (!default_value.empty()) text += "; default " + default_value;
  if (!needs.empty()) text += "; requires " + join(needs);
  return text;
}

const CommandText* CommandText::command(std::string_view called) const {
  const auto found = std::ranges::find_if(commands, [called](const CommandText& each) {
    return each.name == called || std::ranges::find(each.aliases, called) != each.aliases.end();
  });
  return found == commands.end() ? nullptr : &*found;
}

std::vector<OptionText> global_options(const CommandText& root) {
  std::vector<OptionText> options;
  for (const OptionText& option : root.options) {
    if (!option.is_called("--help") && !option.is_called("--version")) options.push_back(option);
  }
  return options;
}

std::pair<std::string, std::string> split_footer(std::string_view footer) {
  for (const std::string_view heading : {"Examples:\n", "Example:\n"}) {
    const std::size_t at = footer.find(heading);
    if (at == footer.npos || (at != 0 && footer[at - 1] != '\n')) continue;
    return {std::string(footer.substr(0, at)), std::string(footer.substr(at + heading.size()))};
  }
  return {std::string(footer), ""};
}

}  // namespace gantry::cli
