// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/config.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/text.hpp"
#include "core/base/yaml/yaml_record.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <filesystem>

namespace gantry {
namespace {

constexpr std::string_view kLogLevels[] = {"error", "warning", "info", "debug"};

constexpr std::string_view kAllowDeny[] = {"allow", "deny"};

std::string check_cpus(const YamlValue& value) {
  return parse_cpus(value.text).ok() ? "" : "CPUs as in \"0-3,8\"";
}

constexpr YamlField kPlugins[] = {
    {.name = "manifests", .type = YamlType::list, .items = YamlType::text},
    {.name = "dirs", .type = YamlType::list, .items = YamlType::text},
    {.name = "disable", .type = YamlType::list, .items = YamlType::text},
    {.name = "select", .type = YamlType::list, .items = YamlType::text},
    {.name = "user", .type = YamlType::boolean},
    {.name = "fallback", .type = YamlType::boolean},
    {.name = "overrides", .type = YamlType::map, .items = YamlType::text},
    {.name = "trust", .type = YamlType::text},
    {.name = "lock", .type = YamlType::text},
};
constexpr YamlField kBackend[] = {
    {.name = "config", .type = YamlType::map, .items = YamlType::scalar},
};
constexpr YamlField kDevice[] = {
    {.name = "memory_limit_mib", .type = YamlType::integer, .min = 1, .max = kMaxMemoryLimitMib},
};
constexpr YamlField kFields[] = {
    {.name = "plugins", .type = YamlType::record, .fields = kPlugins},
    {.name = "backends", .type = YamlType::map, .items = YamlType::record, .fields = kBackend},
    {.name = "devices", .type = YamlType::map, .items = YamlType::record, .fields = kDevice},
    {.name = "environment", .type = YamlType::choice, .choices = kAllowDeny},
    {.name = "threads", .type = YamlType::integer, .min = 0, .max = kMaxThreads},
    {.name = "cpus", .type = YamlType::scalar, .check = check_cpus},
    {.name = "spin_us", .type = YamlType::integer, .min = 0, .max = kMaxSpinUs},
    {.name = "cache", .type = YamlType::text},
    {.name = "strict", .type = YamlType::boolean},
    {.name = "log", .type = YamlType::choice, .choices = kLogLevels},
};

void add_paths(const std::vector<std::string>& written, const std::filesystem::path& directory,
               std::vector<std::string>& absolute) {
  for (const std::string& path : written)
    absolute.push_back((directory / path).lexically_normal().string());
}

void add_path(const YamlRecord& record, std::string_view key,
              const std::filesystem::path& directory, std::string& absolute) {
  if (record.has(key)) absolute = (directory / record.text(key)).lexically_normal().string();
}

void apply_plugins(const YamlRecord& plugins, const std::filesystem::path& directory,
                   const std::string& file, Config& config) {
  add_paths(plugins.texts("manifests"), directory, config.manifests);
  add_paths(plugins.texts("dirs"), directory, config.dirs);
  for (std::string& glob : plugins.texts("disable"))
    config.disable.push_back({std::move(glob), file});
  for (std::string& glob : plugins.texts("select"))
    config.select.push_back({std::move(glob), file});
  add_path(plugins, "trust", directory, config.trust_file);
  add_path(plugins, "lock", directory, config.lock_file);
  config.user_plugins = plugins.boolean("user", config.user_plugins);
  if (plugins.has("user")) config.user_plugins_file = file;
  config.fallback = plugins.boolean("fallback", config.fallback);
  for (const YamlEntry& entry : plugins.entries("overrides")) {
    std::erase_if(config.overrides, [&](const auto& before) { return before.what == entry.key; });
    config.overrides.push_back({entry.key, entry.value.text, file});
  }
}

void apply_devices(const YamlDocument& document, const YamlRecord& root, const std::string& file,
                   Config& config) {
  for (const YamlEntry& entry : root.entries("devices")) {
    const YamlRecord device(document, entry.value, "");
    std::erase_if(config.devices, [&](const auto& before) { return before.name == entry.key; });
    config.devices.push_back({entry.key, device.integer("memory_limit_mib") << 20, file});
  }
}

}  // namespace

std::span<const YamlField> config_fields() { return kFields; }

std::string Config::source() const {
  return files.empty() ? "the configuration" : join(files, ", ");
}

Status apply_config(std::string_view text, const std::string& file, Config& config) {
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, file));
  GANTRY_TRY(const YamlRecord root, read_record(document, kFields));
  config.files.push_back(file);

  const std::filesystem::path directory = absolute_path(file).parent_path();
  if (const YamlRecord plugins = root.record("plugins"))
    apply_plugins(plugins, directory, file, config);
  for (const YamlEntry& backend : root.entries("backends")) {
    std::vector<ConfigText> options;
    if (const YamlValue* written = backend.value.find("config")) {
      for (const YamlEntry& option : written->entries)
        options.push_back(to_config_text(option.key, option.value));
    }
    config.backends.push_back({backend.key, std::move(options), file});
  }
  apply_devices(document, root, file, config);
  if (root.has("environment")) {
    config.environment = root.text("environment") == "allow";
    config.environment_file = file;
  }
  config.threads = static_cast<int>(root.integer("threads", config.threads));
  if (root.has("cpus")) config.cpus = parse_cpus(root.text("cpus")).value();
  config.spin_us = static_cast<int>(root.integer("spin_us", config.spin_us));
  if (root.has("cache")) {
    config.cache = root.text("cache");
    if (!config.cache.empty() && config.cache != "none")
      config.cache = (directory / config.cache).lexically_normal().string();
  }
  config.strict = root.boolean("strict", config.strict);
  if (root.has("strict")) config.strict_file = file;
  if (root.has("log")) parse_log_level(root.text("log"), config.log);
  return {};
}

Result<Config> parse_config(std::string_view text, const std::string& file) {
  Config config;
  GANTRY_CHECK(apply_config(text, file, config));
  return config;
}

Result<std::vector<int>> parse_cpus(std::string_view text) {
  std::vector<int> cpus;
  std::string_view left = text;
  do {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last = dash == part.size() ? first : parse_number<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMaxCpu)
      return invalid("CPUs are ", quoted(text), ": ", quoted(part), " is no number or range");
    // A range may be written any number of times.
    if (cpus.size() + static_cast<std::size_t>(*last - *first) > kMaxCpu)
      return invalid("CPUs are more than ", kMaxCpu + 1, " at ", quoted(part));
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  } while (!left.empty());
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

}  // namespace gantry
