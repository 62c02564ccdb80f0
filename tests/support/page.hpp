// SPDX-License-Identifier: Apache-2.0
//
// The examples of a page of documentation, so that tests execute them.
#pragma once

#include "tests/support/files.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// Returns the text of a page.
//
// name     [in]   relative to the root of the sources: "core/writing/RECIPE.md"
inline std::string read_page(std::string_view name) {
  const std::vector<std::uint8_t> bytes = read_file(golden("../../..") / name);
  return {bytes.begin(), bytes.end()};
}

// Returns the contents of the fenced blocks of a language, in their order.
//
// language [in]   as behind the fence: "yaml"
inline std::vector<std::string> blocks_of(std::string_view page, std::string_view language) {
  const std::string fence = "\n```" + std::string(language) + "\n";
  std::vector<std::string> blocks;
  for (std::size_t at = 0; (at = page.find(fence, at)) != std::string_view::npos;) {
    const std::size_t begin = at + fence.size();
    at = page.find("```", begin);
    blocks.emplace_back(page.substr(begin, at - begin));
  }
  return blocks;
}

}  // namespace gantry::test
