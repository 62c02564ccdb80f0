// SPDX-License-Identifier: Apache-2.0
//
// Filters: globs over plugin ids and manifest file names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct PluginFilter {
  // case-sensitive; `*` matches any characters, `?` one, `[abc]`, `[a-z]` and `[!a]` one of a class
  std::string glob;
  // false: disables plugins; true: enables plugins that an earlier filter disabled
  bool select = false;
  // "GANTRY_DISABLE", "plugins.disable of /etc/gantry/runtime.yaml"
  std::string source;
};

// True if the glob matches the whole text.
bool matches_glob(const std::string& glob, const std::string& text);

// Parses a list of globs that are separated by colons, as in environment variables.
std::vector<PluginFilter> parse_filters(std::string_view list, bool select,
                                        const std::string& source);

}  // namespace gantry
