// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/page.hpp"

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// The names in the list `globals` of a plugin's manifest in the sources: "plugins/relax/relax.yaml.in".
inline std::vector<std::string> globals_of(std::string_view manifest) {
  const std::string text = read_page(manifest);
  std::size_t at = text.find("\nglobals: [");
  std::vector<std::string> names;
  std::string name;
  for (at += std::string_view("\nglobals: [").size(); at < text.size() && text[at] != ']'; ++at) {
    const char c = text[at];
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') {
      name += c;
    } else if (!name.empty()) {
      names.push_back(std::move(name));
      name.clear();
    }
  }
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

}  // namespace gantry::test
