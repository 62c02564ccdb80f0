// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/page.hpp"

#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// The names in the list `globals` of a plugin's manifest in the sources, which ends the file:
// "plugins/relax/relax.yaml.in". A line is a name, or "beginning{ends, of, names}", which may go on.
inline std::vector<std::string> globals_of(std::string_view manifest) {
  static const std::regex entry(R"(- "?([\w.+]+)(\{([^}]*)\})?)"), end(R"([\w.+]+)");
  const std::string text = read_page(manifest);
  std::vector<std::string> names;
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(text.find("\nglobals:\n"));
  for (std::sregex_iterator at(begin, text.end(), entry), none; at != none; ++at) {
    const std::string ends = (*at)[3];
    if (!(*at)[2].matched) names.push_back((*at)[1]);
    for (std::sregex_iterator name(ends.begin(), ends.end(), end); name != none; ++name)
      names.push_back((*at)[1].str() + name->str());
  }
  return names;
}

}  // namespace gantry::test
