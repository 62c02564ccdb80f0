// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/config_check.hpp"

#include "core/base/near_name.hpp"

#include <gantry/quoted.hpp>

#include <filesystem>
#include <set>

namespace gantry {
namespace {

// The names that the manifests of this host provide, whether the plugins are usable or not.
struct Offered {
  std::set<std::string> ids, keys, devices;

  explicit Offered(const PluginSet& plugins) {
    for (const Candidate& candidate : plugins.candidates()) {
      if (!candidate.manifest) continue;
      ids.insert(candidate.manifest->id);
      for (const ManifestKey& key : candidate.manifest->keys) {
        keys.insert(key.key);
        keys.insert(key.aliases.begin(), key.aliases.end());
      }
      for (const auto& device : candidate.manifest->devices) devices.insert(device.name);
    }
  }
};

std::string near_text(std::string_view wrong, const std::set<std::string>& there) {
  const std::vector<std::string_view> names(there.begin(), there.end());
  return did_you_mean(wrong, names);
}

}  // namespace

std::vector<std::string> unknown_names(const Config& config, const PluginSet& plugins) {
  std::vector<std::string> lines;
  const Offered offered(plugins);
  const auto add = [&](std::string_view file, std::string_view key, const auto&... what) {
    lines.push_back(concat(file, ": ", key, ": ", what...));
  };
  const auto check_plugin = [&](std::string_view file, std::string_view key,
                                const std::string& id) {
    if (offered.ids.contains(id)) return;
    add(file, key, "no installed plugin has the id ", quoted(id), near_text(id, offered.ids));
  };
  for (const auto& [what, id, file] : config.overrides) {
    const std::string key = concat("plugins.overrides.", what);
    if (!offered.keys.contains(what) && !offered.devices.contains(what)) {
      std::set<std::string> both = offered.keys;
      both.insert(offered.devices.begin(), offered.devices.end());
      add(file, key, "no installed plugin offers ", quoted(what), near_text(what, both));
    }
    check_plugin(file, key, id);
  }
  for (const ConfigBackend& backend : config.backends)
    check_plugin(backend.file, "backends", backend.id);
  for (const ConfigDevice& device : config.devices) {
    if (device.name == "cpu" || offered.devices.contains(device.name)) continue;
    add(device.file, "devices", "no installed plugin has the device ", quoted(device.name),
        near_text(device.name, offered.devices));
  }
  for (const std::string& path : config.manifests) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) {
      add(config.source(), "plugins.manifests", quoted(path), " is not a file");
    }
  }
  for (const std::string& path : config.dirs) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      add(config.source(), "plugins.dirs", quoted(path), " is not a directory");
    }
  }
  return lines;
}

}  // namespace gantry
