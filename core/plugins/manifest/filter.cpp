// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/filter.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace gantry {

bool matches_glob(const std::string& glob, const std::string& text) {
  return ::fnmatch(glob.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
}

std::vector<PluginFilter> parse_filters(std::string_view list, bool select,
                                        const std::string& source) {
  std::vector<PluginFilter> filters;
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    if (colon > 0) filters.push_back({std::string(list.substr(0, colon)), select, source});
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
  return filters;
}

}  // namespace gantry
