// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/installed_plugins.hpp"

#include "core/runtime/config_check.hpp"
#include "core/runtime/state.hpp"

namespace gantry {

PluginSet& InstalledPlugins::set() const { return *state_->plugins; }

const PayloadLayouts& InstalledPlugins::layouts() const { return state_->layouts; }

std::optional<std::string> InstalledPlugins::serving(std::string_view type_key) {
  const auto known = serving_.find(type_key);
  if (known != serving_.end()) return known->second;
  const auto choice = set().usable_for_key(type_key, Depth::library);
  // Not cached, because a file can contain any number of unknown keys.
  if (!choice) return std::nullopt;
  const std::string id = set().candidate(choice->candidate).manifest->id;
  return serving_.emplace(type_key, id).first->second;
}

Result<std::vector<PayloadCheck>> InstalledPlugins::check_payloads(const std::string& path) const {
  return gantry::check_payloads(*state_, path);
}

std::vector<std::string> InstalledPlugins::unknown_names() const {
  return gantry::unknown_names(state_->config, set());
}

void InstalledPlugins::warn_of_unknown_names() const {
  for (const std::string& line : unknown_names()) state_->log.warning(line);
}

}  // namespace gantry
