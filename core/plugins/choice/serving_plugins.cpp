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

}  // namespace gantry
