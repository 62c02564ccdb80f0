// SPDX-License-Identifier: Apache-2.0
//
// gantry/quoted.hpp - text from outside, made safe for a message: "cuda", "a\x00b",
// "aaaa..." (300 bytes).
#pragma once

#include <gantry/result.hpp>

#include <string>
#include <string_view>

namespace gantry {

// Quotes a text of unknown origin. Characters that could change a terminal or a log line are
// escaped; a long text is cut, and its length is added.
//
// text     [in]   any bytes, may contain NUL
// most     [in]   bytes of text shown
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

// With <iomanip>, std::quoted is found for strings, too, by their namespace: these match better.
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
