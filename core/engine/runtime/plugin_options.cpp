// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/plugin_options.hpp"

#include "core/base/text.hpp"

#include <gantry/disk_cache.hpp>

#include <filesystem>
#include <set>

namespace gantry {
namespace {

// The options that the environment sets for a plugin: one layer for each GANTRY_CONFIG_<ID>__<KEY>.
std::vector<ConfigLayer> environment_layers(const Manifest& manifest,
                                            const Environment& environment) {
  std::vector<ConfigLayer> layers;
  const std::string prefix = config_variable(manifest.id, "");
  for (const auto& [name, value] : environment.plugin_config) {
    const std::string variable = "GANTRY_CONFIG_" + name;
    if (!variable.starts_with(prefix)) continue;
    std::string key = lower(variable.substr(prefix.size()));
    for (const ConfigOption& option : manifest.config_schema) {
      if (config_variable(manifest.id, option.name) == variable) key = option.name;
    }
    layers.push_back({"environment variable " + variable, {{key, value, Spelling::raw}}});
  }
  return layers;
}

// environment  [in]  see ConfigLocations
Result<std::vector<ConfigValue>> resolve(const RuntimeState& state, const Manifest& manifest,
                                         decltype(ConfigLocations::environment) environment,
                                         std::vector<Message>& warnings) {
  std::vector<ConfigLayer> layers;
  for (const ConfigBackend& backend : state.config.backends) {
    if (backend.id == manifest.id) layers.push_back({backend.file, backend.options});
  }
  for (ConfigLayer& layer : environment_layers(manifest, state.environment))
    layers.push_back(std::move(layer));
  const ConfigLocations locations{
      std::filesystem::path(manifest.file).parent_path().string(),
      std::filesystem::path(manifest.library_path).parent_path().string(), state.cache_directory,
      std::move(environment)};
  return resolve_config(manifest, layers, locations, warnings);
}

}  // namespace

Result<std::vector<ConfigValue>> plugin_options(const RuntimeState& state, const Manifest& manifest,
                                                std::vector<Message>& warnings) {
  const auto variable = [&](const std::string& name) { return state.environment.variable(name); };
  return resolve(state, manifest, variable, warnings);
}

std::vector<std::string> ignored_variables(const RuntimeState& state) {
  if (!state.environment.forbidden) return {};
  std::set<std::string> names;
  // The empty value: another variable of the same plugin may have no default.
  const auto note = [&](const std::string& name) -> std::optional<std::string> {
    if (!state.environment.ignores(name)) return std::nullopt;
    names.insert(name);
    return "";
  };
  std::vector<Message> warnings;
  for (const Candidate& candidate : state.plugins->candidates()) {
    // An error is reported when the plugin is opened.
    if (!candidate.stopped()) (void)resolve(state, *candidate.manifest, note, warnings);
  }
  return {names.begin(), names.end()};
}

std::uint64_t plugin_options_digest(const RuntimeState& state, const Manifest& manifest) {
  std::vector<Message> warnings;
  const auto values = plugin_options(state, manifest, warnings);
  return values.ok() ? digest_of(*values) : DiskCache::digest(values.error().reason);
}

}  // namespace gantry
