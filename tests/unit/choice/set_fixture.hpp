// SPDX-License-Identifier: Apache-2.0
//
// The set of the plugins of a test's directories.
#pragma once

#include "core/plugins/choice/plugin_set.hpp"
#include "tests/unit/library/world.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gantry::test {

inline ManifestBuilder second() { return fake_manifest().id("test.second").version("2.0.0"); }

// A set of a world's plugins, with the logged lines and the ids of the created plugins.
struct SetFixture {
  explicit SetFixture(const World& world,
                      std::vector<std::pair<std::string, std::string>> overrides = {},
                      const std::vector<PluginFilter>& filters = {},
                      std::shared_ptr<const Trust> trusted = nullptr,
                      OpenedPlugins* opened_plugins = nullptr)
      : log(LogLevel::warning,
            [this](LogLevel, std::string_view line) { lines.emplace_back(line); }),
        trust(std::move(trusted)),
        opened(opened_plugins),
        plugins(world.search(), options(std::move(overrides), filters)) {}

  ChoiceOptions options(std::vector<std::pair<std::string, std::string>> overrides,
                        const std::vector<PluginFilter>& filters) {
    ChoiceOptions all;
    all.filters = filters;
    all.overrides = std::move(overrides);
    all.core = core_info();
    all.log = &log;
    all.trust = trust;
    all.opened = opened;
    all.create = [this](const std::shared_ptr<const LoadedPlugin>& plugin,
                        const Manifest&) -> Result<std::shared_ptr<void>> {
      created.push_back(plugin->id);
      void* self = nullptr;
      if (const gantry_code code = plugin->table.create(nullptr, &self, nullptr)) {
        return fail(static_cast<Code>(code), "no device on this machine").with_reason("NO_DEVICE");
      }
      return std::make_shared<int>(7);
    };
    return all;
  }

  std::vector<std::string> lines, created;
  Log log;
  std::shared_ptr<const Trust> trust;
  OpenedPlugins* opened;
  PluginSet plugins;
};

inline std::vector<std::string> ids(const PluginSet& plugins,
                                    const std::vector<std::size_t>& choices) {
  std::vector<std::string> all;
  for (const std::size_t choice : choices) all.push_back(plugins.candidates()[choice].manifest->id);
  return all;
}

}  // namespace gantry::test
