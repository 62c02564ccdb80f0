// SPDX-License-Identifier: Apache-2.0
//
// The layout of texts for people: lists, columns, indentation.
#pragma once

#include <gantry/concat.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace gantry {

// Joins the texts of `items` with ", ".
//
// text_of  [in]   function or member that returns the text of an item
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, TextOf text_of = {}) {
  std::string text;
  for (const auto& item : items) {
    append(text, {text.empty() ? "" : ", ", std::invoke(text_of, item)});
  }
  return text;
}

// Appends blanks to a text that is shorter than `width`.
inline std::string pad(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

// Inserts `by` before every line but the first.
inline std::string indent(std::string_view text, std::string_view by) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}

// Replaces ASCII letters by their capitals.
inline std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

}  // namespace gantry
