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

}  // namespace gantry
