// SPDX-License-Identifier: Apache-2.0
//
// gantry/quoted.hpp - quotes untrusted text for messages: "cuda", "a\x00b", "aaaa..." (300 bytes).
#pragma once

#include <gantry/result.hpp>

#include <string>
#include <string_view>

namespace gantry {

// Quotes a text. Escapes quotes, backslashes and everything but printable ASCII. Truncates a
// long text and adds its length.
//
// text     [in]   any bytes, may contain NUL
// max      [in]   maximum number of bytes shown
// returns  printable ASCII without line breaks
inline std::string quoted(std::string_view text, std::size_t max = 80) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (c == '\n') {
      out.append("\\n");
    } else if (byte < 0x20 || byte > 0x7e) {
      out.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
    } else {
      out.push_back(c);
    }
  }
  if (text.size() <= max) return out.append("\"");
  return out.append(concat("...\" (", text.size(), " bytes)"));
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
