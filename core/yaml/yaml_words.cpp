// SPDX-License-Identifier: Apache-2.0
#include "core/yaml/yaml_words.hpp"

#include <algorithm>

namespace gantry {
namespace {

// Stands side by side in the text wherever it does in the scalar.
bool is_literal(char c) { return c > ' ' && c < 0x7f && c != '\''; }

std::string_view longest_literal_part(std::string_view word) {
  std::string_view longest;
  while (!word.empty()) {
    const auto end = std::find_if_not(word.begin(), word.end(), is_literal);
    const auto size = static_cast<std::size_t>(end - word.begin());
    if (size > longest.size()) longest = word.substr(0, size);
    word.remove_prefix(std::min(size + 1, word.size()));
  }
  return longest;
}

}  // namespace

bool yaml_can_say(std::string_view text, std::string_view word) {
  return text.find(longest_literal_part(word)) != std::string_view::npos ||
         text.find('\\') != std::string_view::npos;
}

}  // namespace gantry
