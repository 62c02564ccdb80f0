// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/installed_plugins.hpp"

#include "core/runtime/state.hpp"

namespace gantry::cli {

const PayloadLayouts& InstalledPlugins::layouts() const { return runtime_.state().layouts; }

std::optional<std::string> InstalledPlugins::serving(std::string_view type_key) {
  const auto known = serving_.find(type_key);
  if (known != serving_.end()) return known->second;
  const PluginSet& plugins = *runtime_.state().plugins;
  std::optional<std::string> id;
  if (const auto choices = plugins.choices_for_key(type_key); !choices.empty()) {
    id = plugins.candidates()[choices.front().candidate].manifest->id;
  }
  serving_.emplace(type_key, id);
  return id;
}

}  // namespace gantry::cli
