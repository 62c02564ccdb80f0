// SPDX-License-Identifier: Apache-2.0
//
// Filters: globs over plugin ids and manifest file names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct PluginFilter {
  // case-sensitive: `*` any bytes, `?` one, `[abc]`, `[a-z]`, `[!a]`
  std::string glob;
  // false: disables; true: enables again what an earlier filter disabled
  bool select = false;
  // "GANTRY_DISABLE", "plugins.disable of /etc/gantry/runtime.yaml"
  std::string source;
};

// costs    O(|glob| * |text|), no recursion
bool matches_glob(std::string_view glob, std::string_view text);

// The filters of one list in the environment: globs between colons.
std::vector<PluginFilter> parse_filters(std::string_view list, bool select,
                                        const std::string& source);

}  // namespace gantry
