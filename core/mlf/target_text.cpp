// SPDX-License-Identifier: Apache-2.0
#include "core/mlf/target_text.hpp"

#include "core/base/text.hpp"

#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

bool is_target_kind(std::string_view word) {
  return !word.empty() && word.front() != '-' && std::ranges::all_of(word, [](char c) {
    return is_identifier_character(c) || c == '-' || c == '.';
  });
}

Status check_json(std::string_view text) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, {"target", "JSON", 0, 16}));
  const auto kind = tree.root().find("kind");
  if (!kind || !kind->is(JsonKind::text) || !is_target_kind(kind->text())) {
    return malformed(tree.root().offset(), "target has no \"kind\"");
  }
  return {};
}

}  // namespace

Status check_target_text(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t\n"), text.size());
  if (first < text.size() && text[first] == '{') return check_json(text);
  std::size_t words = 0;
  for (std::size_t at = first; at < text.size();) {
    // a quoted value may contain blanks
    char quote = '\0';
    std::size_t end = at;
    while (end < text.size() && (quote != '\0' || text[end] != ' ')) {
      if (text[end] == quote) {
        quote = '\0';
      } else if (quote == '\0' && (text[end] == '"' || text[end] == '\'')) {
        quote = text[end];
      }
      ++end;
    }
    const std::string_view word = text.substr(at, end - at);
    if (quote != '\0') return malformed(at, "option ", quoted(word), " has an open quote");
    if (words == 0 ? !is_target_kind(word) : !word.starts_with('-') || word.size() == 1) {
      return malformed(at, quoted(word), " is not ", words == 0 ? "a target kind" : "an option");
    }
    ++words;
    at = std::min(text.find_first_not_of(' ', end), text.size());
  }
  if (words == 0) return malformed(0, "target is empty");
  return {};
}

}  // namespace gantry
