// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/installed_plugins.hpp"

#include "core/runtime/state.hpp"

namespace gantry::cli {

const PayloadLayouts& InstalledPlugins::layouts() const { return runtime_.state().layouts; }

std::optional<std::string> InstalledPlugins::serving(std::string_view type_key) {
  const auto known = serving_.find(type_key);
  if (known != serving_.end()) return known->second;
  PluginSet& plugins = *runtime_.state().plugins;
  if (!inspected_) {
    plugins.inspect_all();
    candidates_ = plugins.candidates();
    inspected_ = true;
  }
  for (const Choice& choice : plugins.choices_for_key(type_key)) {
    const Candidate& candidate = candidates_[choice.candidate];
    if (!candidate.stopped())
      return serving_.emplace(type_key, candidate.manifest->id).first->second;
  }
  return std::nullopt;  // not kept: a file can ask for any number of keys
}

}  // namespace gantry::cli
