// SPDX-License-Identifier: Apache-2.0
//
// gantry/word_list.hpp - lists of words in one text, as tables have them: "strides padding dilation".
#pragma once

#include <algorithm>
#include <string_view>

namespace gantry {

// Removes the first word of a list from it, and returns it.
inline std::string_view take_word(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view word = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return word;
}

inline bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (take_word(list, ' ') == word) return true;
  }
  return false;
}

}  // namespace gantry
