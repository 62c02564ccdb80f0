// SPDX-License-Identifier: Apache-2.0
//
// gantry/quoted.hpp - quotes untrusted text for messages: "cuda", "a\x00b", "aaaa..." (300 bytes).
#pragma once

#include <gantry/concat.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace gantry {

// Quotes a text. Escapes quotes, backslashes, and what append_escaped() escapes. Truncates a long
// text between two characters and adds its length.
//
// text     [in]   any bytes, may contain NUL
// max      [in]   maximum number of bytes shown
// returns  UTF-8 without line breaks and control characters
inline std::string quoted(std::string_view text, std::size_t max = 80) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = std::max<std::size_t>(decode_utf8(text, at).size, 1);
    if (text.size() > max && at + size > max) {
      return out.append(concat("...\" (", text.size(), " bytes)"));
    }
    const char c = text[at];
    if (c == '"' || c == '\\' || c == '\n') {
      out.append({'\\', c == '\n' ? 'n' : c});
    } else {
      append_escaped_at(out, text, at);
    }
    at += size;
  }
  return out.append("\"");
}

// Better matches than std::quoted, which argument-dependent lookup finds if <iomanip> is included.
inline std::string quoted(const std::string& text, std::size_t max = 80) {
  return quoted(std::string_view(text), max);
}
inline std::string quoted(std::string& text, std::size_t max = 80) {
  return quoted(std::string_view(text), max);
}
inline std::string quoted(const char* text, std::size_t max = 80) {
  return quoted(std::string_view(text), max);
}

}  // namespace gantry
