// SPDX-License-Identifier: Apache-2.0
//
// Where the plugins of this build are.
#pragma once

#include "tests/support/files.hpp"

#include <string>
#include <string_view>

namespace gantry::test {

// Returns the directory of one plugin, or of all of them: built_plugins("graph").
inline std::string built_plugins(std::string_view plugin = {}) {
  const std::filesystem::path all = build_tree() / "share/gantry/plugins.d";
  return plugin.empty() ? all.string() : (all / plugin).string();
}

}  // namespace gantry::test
