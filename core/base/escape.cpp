// SPDX-License-Identifier: Apache-2.0
#include "core/base/escape.hpp"

#include <gantry/utf8.hpp>

namespace gantry {

std::string escaped(std::string_view name) {
  std::string out;
  for (std::size_t at = 0; at < name.size();) {
    if (name[at] == '\\') out.push_back('\\');
    at += append_escaped_at(out, name, at);
  }
  return out;
}

std::string escaped_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n' || c == '\t') {
      out.push_back(c);
      ++at;
    } else {
      at += append_escaped_at(out, text, at);
    }
  }
  return out;
}

std::string json_text(std::string_view name) {
  return is_utf8(name) ? std::string(name) : escaped(name);
}

std::string markup_text(std::string_view text) {
  const std::string valid = json_text(text);
  std::string out;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const char c = valid[i];
    const std::string_view three = std::string_view(valid).substr(i, 3);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '\n' || c == '\t') {
      out += c == '\n' ? "&#10;" : "&#9;";
    } else if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {
      // U+FFFE and U+FFFF
      out += '?';
      i += 2;
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

}  // namespace gantry
