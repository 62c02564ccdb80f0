// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/escape.hpp"

namespace gantry::cli {
namespace {

bool word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string dot_text(std::string_view name) {
  std::string out;
  for (const char c : escaped(name)) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string mermaid_text(std::string_view name) {
  // Mermaid's entity codes, which also prevent HTML in labels
  constexpr std::string_view special = "\"#<>&`";
  constexpr std::string_view codes[] = {"#quot;", "#35;", "#lt;", "#gt;", "#amp;", "#96;"};
  std::string out;
  for (const char c : escaped(name)) {
    const std::size_t i = special.find(c);
    out += i == special.npos ? std::string_view(&c, 1) : codes[i];
  }
  return out;
}

std::string file_name_text(std::string_view key) {
  constexpr std::size_t max = 64;
  std::string out;
  for (const char c : key.substr(0, max)) {
    out.push_back(word_character(c) && !(out.empty() && c == '.') ? c : '_');
  }
  return out.empty() ? "_" : out;
}

}  // namespace gantry::cli
