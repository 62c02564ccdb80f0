// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/config.hpp"

#include "core/base/text_file.hpp"
#include "core/yaml/yaml_record.hpp"

#include <filesystem>

namespace gantry {
namespace {

constexpr std::string_view kLogLevels[] = {"error", "warning", "info", "debug"};

constexpr YamlField kPlugins[] = {
    {.name = "manifests", .type = YamlType::list, .items = YamlType::text},
    {.name = "dirs", .type = YamlType::list, .items = YamlType::text},
    {.name = "disable", .type = YamlType::list, .items = YamlType::text},
    {.name = "select", .type = YamlType::list, .items = YamlType::text},
    {.name = "user", .type = YamlType::boolean},
    {.name = "overrides", .type = YamlType::map, .items = YamlType::text},
};
constexpr YamlField kBackend[] = {
    {.name = "config", .type = YamlType::map, .items = YamlType::scalar},
};
constexpr YamlField kFields[] = {
    {.name = "plugins", .type = YamlType::record, .fields = kPlugins},
    {.name = "backends", .type = YamlType::map, .items = YamlType::record, .fields = kBackend},
    {.name = "threads", .type = YamlType::integer, .min = 0, .max = kMaxThreads},
    {.name = "spin_us", .type = YamlType::integer, .min = 0, .max = kMaxSpinUs},
    {.name = "cache", .type = YamlType::text},
    {.name = "log", .type = YamlType::choice, .choices = kLogLevels},
};

std::vector<std::string> paths(const std::vector<std::string>& written,
                               const std::filesystem::path& directory) {
  std::vector<std::string> absolute;
  for (const std::string& path : written)
    absolute.push_back((directory / path).lexically_normal().string());
  return absolute;
}

}  // namespace

std::span<const YamlField> config_fields() { return kFields; }

Result<Config> parse_config(std::string_view text, const std::string& file) {
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, file));
  Config config;
  config.file = file;
  GANTRY_TRY(const YamlRecord root, read_record(document, kFields));

  // Fails only for a relative path in a working directory that was removed.
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::absolute(file, failed).parent_path();
  if (const YamlRecord plugins = root.record("plugins")) {
    config.manifests = paths(plugins.texts("manifests"), directory);
    config.dirs = paths(plugins.texts("dirs"), directory);
    config.disable = plugins.texts("disable");
    config.select = plugins.texts("select");
    config.user_plugins = plugins.boolean("user", config.user_plugins);
    for (const YamlEntry& override_id : plugins.entries("overrides"))
      config.overrides.emplace_back(override_id.key, override_id.value.text);
  }
  for (const YamlEntry& backend : root.entries("backends")) {
    std::vector<ConfigText> options;
    if (const YamlValue* written = backend.value.find("config")) {
      for (const YamlEntry& option : written->entries)
        options.push_back(to_config_text(option.key, option.value));
    }
    config.backends.emplace_back(backend.key, std::move(options));
  }
  config.threads = static_cast<int>(root.integer("threads", config.threads));
  config.spin_us = static_cast<int>(root.integer("spin_us", config.spin_us));
  config.cache = root.text("cache");
  if (!config.cache.empty() && config.cache != "none")
    config.cache = paths({config.cache}, directory).front();
  if (root.has("log")) parse_log_level(root.text("log"), config.log);
  return config;
}

Result<Config> read_config(const std::string& named) {
  const std::string path = named.empty() ? std::string(kSystemConfigFile) : named;
  const auto text = read_text_file(path);
  if (!text.ok()) {
    if (named.empty() && text.error().code == Code::not_found) return Config{};
    return Error(text.error()).at("while reading the configuration ", path);
  }
  auto config = parse_config(*text, path);
  if (!config.ok()) return std::move(config).failure().at("while reading the configuration ", path);
  return config;
}

}  // namespace gantry
