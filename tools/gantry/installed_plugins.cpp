// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/installed_plugins.hpp"

#include "core/runtime/state.hpp"

namespace gantry::cli {

const PayloadLayouts& InstalledPlugins::layouts() const { return runtime_.state().layouts; }

std::optional<std::string> InstalledPlugins::serving(std::string_view type_key) const {
  const PluginSet& plugins = *runtime_.state().plugins;
  const auto choices = plugins.choices_for_key(type_key);
  if (choices.empty()) return std::nullopt;
  return plugins.candidates()[choices.front().candidate].manifest->id;
}

}  // namespace gantry::cli
