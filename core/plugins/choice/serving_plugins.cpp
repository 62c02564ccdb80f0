// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/serving_plugins.hpp"

namespace gantry {

std::optional<std::string> ServingPlugins::id_for(std::string_view type_key) {
  const auto known = known_.find(type_key);
  if (known != known_.end()) return known->second;
  const auto choice = plugins_.usable_for_key(type_key, Depth::library);
  // Not kept, because a file can contain any number of unknown keys.
  if (!choice) return std::nullopt;
  const std::string id = plugins_.candidate(*choice).manifest->id;
  return known_.emplace(type_key, id).first->second;
}

std::optional<std::string> ServingPlugins::id_for_function(std::string_view name) const {
  const std::vector<std::size_t> choices = plugins_.choices_for_global(name);
  if (choices.empty()) return std::nullopt;
  return plugins_.candidate(choices.front()).manifest->id;
}

}  // namespace gantry
