// SPDX-License-Identifier: Apache-2.0
//
// Cases 42 to 45: options and environment.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/environment_reads.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/subject.hpp"

#include "core/base/reason.hpp"
#include "core/plugins/manifest/config_values.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <filesystem>

namespace gantry::kit {
namespace {

Result<std::vector<ConfigValue>> resolve(const Manifest& manifest, const ConfigText& value) {
  const std::vector<ConfigLayer> layers{{"the conformance kit", {value}}};
  std::vector<Message> ignored;
  const ConfigLocations locations{std::filesystem::path(manifest.file).parent_path().string(),
                                  std::filesystem::path(manifest.library_path).parent_path(),
                                  {},
                                  [](const std::string&) { return std::optional<std::string>(); }};
  return resolve_config(manifest, layers, locations, ignored);
}

// 42
Status declares_its_options(Subject& subject) {
  const Manifest& manifest = subject.manifest();
  if (manifest.config_schema.empty()) {
    if (manifest.config.empty()) return skipped("the plugin has no options");
    return bug(
        "the manifest has `config` without `config_schema`, so unknown options are accepted");
  }
  const auto resolved = resolve(manifest, {"unknown_option_of_the_kit", "1", Spelling::raw});
  if (resolved.ok()) return bug("an unknown option is accepted");
  if (resolved.error().reason == reason::config_key.tag) return {};
  return bug("an unknown option is refused with reason ", resolved.error().reason,
             ", expected CONFIG_KEY: ", first_line(resolved.error()));
}

// The values at the ends of an option's range; empty if it has none.
std::vector<std::string> limits_of(const ConfigOption& option) {
  std::vector<std::string> values;
  const bool is_integer = option.type == OptionType::integer;
  for (const std::optional<double>& limit : {option.min, option.max}) {
    if (!limit) continue;
    values.push_back(is_integer ? std::to_string(static_cast<std::int64_t>(*limit))
                                : std::to_string(*limit));
  }
  if (option.type == OptionType::boolean) values = {"true", "false"};
  if (option.type == OptionType::choice) values = option.choices;
  return values;
}

// Creates and destroys the plugin with one option set.
Status create_with(Subject& subject, const ConfigOption& option, const std::string& value) {
  setenv(config_variable(subject.manifest().id, option.name).c_str(), value.c_str(), 1);
  GANTRY_TRY(const auto state, subject.runtime());
  const auto active = state->plugins->open(subject.manifest().id);
  unsetenv(config_variable(subject.manifest().id, option.name).c_str());
  if (active.ok() || active.error().code != Code::bug) return {};
  return bug("create with ", option.name, " = ", quoted(value), ": ", first_line(active.error()));
}

// 43
Status works_at_the_limits(Subject& subject) {
  const Manifest& manifest = subject.manifest();
  if (manifest.config_schema.empty()) return skipped("the plugin has no options");
  for (const ConfigOption& option : manifest.config_schema) {
    const bool takes_any_text = option.type == OptionType::text || option.type == OptionType::path;
    if (!takes_any_text) {
      const auto refused = resolve(manifest, {option.name, "not a value", Spelling::raw});
      if (refused.ok() || refused.error().reason != reason::config_value.tag)
        return bug("option ", option.name, " = \"not a value\" is not refused as CONFIG_VALUE");
    }
    for (const std::string& value : limits_of(option))
      GANTRY_CHECK(create_with(subject, option, value));
  }
  return {};
}

// 44
Status requests_declared_options(Subject& subject) {
  GANTRY_TRY(const auto bench, Bench::open(subject));
  ForwardingHost host(bench->host(), {.abi_minor = bench->plugin().abi_minor, .slack_bytes = 64});
  GANTRY_TRY(const Instance instance, created(bench->plugin(), host.table()));
  make_failing_calls(instance, bench->state());
  std::vector<std::string> undeclared;
  const auto& schema = subject.manifest().config_schema;
  for (const std::string& name : host.requested_options()) {
    const bool known = name == "threads" || name == "cache_directory" ||
                       std::any_of(schema.begin(), schema.end(),
                                   [&](const ConfigOption& each) { return each.name == name; });
    if (!known) undeclared.push_back(name);
  }
  if (undeclared.empty()) return {};
  return bug("the plugin requests options that config_schema does not declare: ", join(undeclared));
}

// 45
Status reads_no_environment(Subject& subject) {
  GANTRY_TRY(const PluginEntry entry, subject.entry());
  record_environment_reads_of(reinterpret_cast<const void*>(entry.query));
  GANTRY_TRY(const auto bench, Bench::open(subject));
  GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
  make_failing_calls(instance, bench->state());
  std::vector<std::string> names = environment_reads();
  const auto& allowed = subject.manifest().env_allow;
  std::erase_if(names, [&](const std::string& name) {
    return std::find(allowed.begin(), allowed.end(), name) != allowed.end();
  });
  if (names.empty()) return {};
  return bug("the plugin reads environment variables that env_allow does not list: ", join(names));
}

constexpr Case kConfigCases[] = {
    {42, Level::L, Weight::must, "declares-its-options", "an unknown option is refused by its name",
     "declare every option in the manifest's config_schema", declares_its_options},
    {43, Level::L, Weight::must, "works-at-the-limits",
     "a value of the wrong type is refused; create works, or fails with a text, with every value "
     "at the ends of a range and every choice",
     "state min, max or the choices in config_schema, and accept what it accepts",
     works_at_the_limits, "create"},
    {44, Level::L, Weight::must, "requests-declared-options",
     "the plugin works with the defaults and requests only options of its config_schema",
     "declare the option, with its default", requests_declared_options},
    {45, Level::L, Weight::should, "reads-no-environment",
     "the plugin's library reads only variables in env_allow",
     "use an option instead, or list the variable in the manifest's env_allow",
     reads_no_environment},
};

}  // namespace

std::span<const Case> config_cases() { return kConfigCases; }

}  // namespace gantry::kit
