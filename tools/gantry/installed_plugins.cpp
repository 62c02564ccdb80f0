// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/installed_plugins.hpp"

#include "core/runtime/state.hpp"

namespace gantry::cli {

const PayloadLayouts& InstalledPlugins::layouts() const { return runtime_.state().layouts; }

std::optional<std::string> InstalledPlugins::serving(std::string_view type_key) {
  const auto known = serving_.find(type_key);
  if (known != serving_.end()) return known->second;
  PluginSet& plugins = *runtime_.state().plugins;
  const auto choice = plugins.usable_for_key(type_key, Depth::library);
  // not stored: a file can contain any number of keys
  if (!choice) return std::nullopt;
  const std::string id = plugins.candidate(choice->candidate).manifest->id;
  return serving_.emplace(type_key, id).first->second;
}

}  // namespace gantry::cli
