// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/target_words.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Adds a backslash before each of `special`.
std::string escaped_in_target(std::string_view value, std::string_view special) {
  std::string text;
  for (const char c : value) {
    if (special.find(c) != special.npos) text.push_back('\\');
    text.push_back(c);
  }
  return text;
}

// An empty value, and one with blanks, require quotes.
std::string in_target_quotes(std::string value) {
  if (!value.empty() && std::ranges::none_of(value, is_blank)) return value;
  return concat('"', value, '"');
}

constexpr std::string_view special_characters = "\"'\\";
constexpr std::string_view special_in_items = "\"'\\,";

}  // namespace

TargetWord TargetWord::from(std::size_t position) const {
  TargetWord rest{text.substr(position), at + position, {}};
  for (const std::size_t comma : literal_commas) {
    if (comma >= position) rest.literal_commas.push_back(comma - position);
  }
  return rest;
}

Result<std::vector<TargetWord>> target_words(std::string_view text) {
  std::vector<TargetWord> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at == text.size()) return words;
    TargetWord word{{}, at, {}};
    char quote = 0;
    std::size_t quote_at = 0;
    for (; at < text.size() && (quote != 0 || !is_blank(text[at])); ++at) {
      const char c = text[at];
      if (c == '\\') {
        if (++at == text.size()) {
          return malformed(at - 1, "target ends with a backslash, expected a character after it");
        }
        if (text[at] == ',') word.literal_commas.push_back(word.text.size());
        word.text.push_back(text[at]);
      } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
        quote = quote != 0 ? 0 : c;
        quote_at = at;
      } else {
        word.text.push_back(c);
      }
    }
    if (quote != 0) return malformed(quote_at, "quote in the target is not closed");
    words.push_back(std::move(word));
  }
}

Result<TargetOptionWord> target_option_word(const TargetWord& word) {
  const std::size_t dashes = word.text.find_first_not_of('-');
  if (dashes == 0 || dashes > 2 || dashes == word.text.npos) {
    return malformed(word.at, "target has ", quoted(word.text),
                     ", expected an option, -name=value or --name=value");
  }
  const std::size_t equals = word.text.find('=', dashes);
  TargetOptionWord option{word.text.substr(dashes, equals - dashes), {}};
  if (equals != word.text.npos) option.value = word.from(equals + 1);
  return option;
}

std::vector<std::string> target_items(const TargetWord& value) {
  std::vector<std::string> items;
  if (value.text.empty()) return items;
  std::string item;
  auto literal = value.literal_commas.begin();
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    const bool is_literal = literal != value.literal_commas.end() && *literal == i;
    if (is_literal) ++literal;
    if (value.text[i] == ',' && !is_literal) {
      items.push_back(std::exchange(item, {}));
    } else {
      item.push_back(value.text[i]);
    }
  }
  items.push_back(std::move(item));
  return items;
}

std::string quoted_target_value(std::string_view value) {
  return in_target_quotes(escaped_in_target(value, special_characters));
}

std::string quoted_target_items(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) text.push_back(',');
    text += escaped_in_target(items[i], special_in_items);
  }
  return in_target_quotes(std::move(text));
}

}  // namespace gantry
