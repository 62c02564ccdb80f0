// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/installed_plugins.hpp"

namespace gantry::cli {

InstalledPlugins::InstalledPlugins(const Globals&) : layouts_(PayloadLayouts::built_in()) {}

std::optional<std::string> InstalledPlugins::serving(std::string_view) const {
  return std::nullopt;
}

}  // namespace gantry::cli
