// SPDX-License-Identifier: Apache-2.0
//
// JSON as --json prints it: keys in the order in which they are set, one document on stdout, ASCII
// only. Texts from files go through json_text() first.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace gantry::cli {

using Json = nlohmann::ordered_json;

// depth    levels that the value stands in: its lines but the first are indented by so many
inline std::string text_of(const Json& json, std::size_t depth) {
  const std::string text = json.dump(2, ' ', /*ensure_ascii=*/true);
  if (depth == 0) return text;
  std::string indented;
  indented.reserve(text.size());
  for (const char c : text) {  // a line break in a string is written as \n
    indented.push_back(c);
    if (c == '\n') indented.append(2 * depth, ' ');
  }
  return indented;
}

inline std::string document_text(const Json& json) { return text_of(json, 0) + "\n"; }

}  // namespace gantry::cli
