// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/completion.hpp"
#include "tools/gantry/common/man_page.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/describe.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/reason.hpp"

#include <set>

namespace gantry::cli {
namespace {

constexpr std::string_view complete_command = "__complete";
constexpr std::string_view man_command = "__man";

// The names of installed plugins and of what they serve. No plugin is opened.
Result<std::vector<std::string>> installed_names(const Completion& completion) {
  Globals globals;
  globals.quiet = true;
  for (const auto& [name, value] : completion.given) {
    if (name == "--plugins") globals.plugins.push_back(value);
    if (name == "--config") globals.config = value;
  }
  GANTRY_TRY(const auto runtime, open_state(globals));
  const PluginSet& plugins = *runtime->plugins;
  if (completion.value == CompletedValue::type_key) return plugins.served_keys();
  if (completion.value == CompletedValue::device) {
    std::vector<std::string> devices = plugins.served_devices();
    devices.insert(devices.begin(), "cpu");
    return devices;
  }
  std::set<std::string> ids;
  for (const Candidate& candidate : plugins.candidates()) {
    if (candidate.manifest) ids.insert(candidate.manifest->id);
  }
  return std::vector<std::string>(ids.begin(), ids.end());
}

// The values of the word's kind; none if the configuration cannot be read.
std::vector<std::string> values_for(const Completion& completion) {
  switch (completion.value) {
    case CompletedValue::none:
    case CompletedValue::file:
    case CompletedValue::directory:
      return {};
    case CompletedValue::reason: {
      std::vector<std::string> tags;
      for (const CataloguedReason& one : all_reasons()) tags.emplace_back(one.reason.tag);
      return tags;
    }
    case CompletedValue::plugin:
    case CompletedValue::type_key:
    case CompletedValue::device:
      break;
  }
  Result<std::vector<std::string>> names = installed_names(completion);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

Result<ExitStatus> print_completions(const CommandText& root, std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  Completion completion = complete(root, words);
  add_values(values_for(completion), completion);
  print(to_lines(completion));
  return kDone;
}

Result<ExitStatus> write_pages(const CommandText& root, const std::vector<std::string>& words) {
  if (words.size() != 1) return invalid("usage: gantry ", man_command, " DIRECTORY");
  GANTRY_CHECK(write_man_pages(words.front(), man_pages(root, core_version())));
  return kDone;
}

}  // namespace

bool is_hidden_command(std::string_view name) {
  return name == complete_command || name == man_command;
}

Result<ExitStatus> run_hidden_command(const CLI::App& root, std::span<char*> words) {
  const CommandText commands = describe(root);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  return words.front() == complete_command ? print_completions(commands, rest)
                                           : write_pages(commands, rest);
}

}  // namespace gantry::cli
