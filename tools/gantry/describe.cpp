// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/describe.hpp"

#include <gantry/join.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

// The texts that CLI11 joins to the type of an option:
//
//     LEVEL:{error,warning,info,debug}    N:INT in [1 - 1024]    NAME[:N]
void split_type(std::string_view type, OptionText& out) {
  const std::size_t choices = type.find(":{");
  const std::size_t range = type.find(" in [");
  out.value = type.substr(0, std::min(choices, range == type.npos ? range : type.find(':')));
  if (choices != type.npos) {
    std::string_view rest = type.substr(choices + 2);
    rest = rest.substr(0, rest.find('}'));
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      out.choices.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  } else if (range != type.npos) {
    const std::string_view rest = type.substr(range + 5);
    out.range = rest.substr(0, rest.find(']'));
  }
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);
  return names;
}

OptionText describe(const CLI::Option& option) {
  OptionText out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  const bool has_value = option.get_items_expected_max() != 0;
  if (has_value) split_type(option.get_type_name(), out);
  if (option.get_positional()) out.value = option.get_name(true);
  out.description = option.get_description();
  std::ranges::replace(out.description, '\n', ' ');
  if (has_value && out.description.find("default") == out.description.npos)
    out.default_value = option.get_default_str();
  out.needs = names_of(option.get_needs());
  out.excludes = names_of(option.get_excludes());
  out.required = option.get_required();
  const auto policy = option.get_multi_option_policy();
  out.repeatable = policy == CLI::MultiOptionPolicy::TakeAll ||
                   option.get_expected_max() == CLI::detail::expected_max_vector_size;
  return out;
}

}  // namespace

CommandText describe(const CLI::App& app) {
  CommandText out;
  out.name = app.get_name();
  out.aliases = app.get_aliases();
  out.description = app.get_description();
  std::ranges::replace(out.description, '\n', ' ');
  out.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    // Hidden ones have no group.
    if (option->get_group().empty()) continue;
    (option->get_positional() ? out.arguments : out.options).push_back(describe(*option));
  }
  for (const CLI::App* command : app.get_subcommands({}))
    out.commands.push_back(describe(*command));
  return out;
}

}  // namespace gantry::cli
