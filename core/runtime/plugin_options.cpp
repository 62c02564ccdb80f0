// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/plugin_options.hpp"

#include <cctype>
#include <filesystem>

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
    std::string key = variable.substr(prefix.size());
    for (char& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const ConfigOption& option : manifest.config_schema) {
      if (config_variable(manifest.id, option.name) == variable) key = option.name;
    }
    layers.push_back({"environment variable " + variable, {{key, value, Spelling::raw}}});
  }
  return layers;
}

}  // namespace

Result<std::vector<ConfigValue>> plugin_options(const RuntimeState& state, const Manifest& manifest,
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
      Environment::variable};
  return resolve_config(manifest, layers, locations, warnings);
}

}  // namespace gantry
