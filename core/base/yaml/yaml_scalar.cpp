// SPDX-License-Identifier: Apache-2.0
#include "core/base/yaml/yaml_scalar.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace gantry {
namespace {

// bytes of a value that an error quotes
constexpr std::size_t kMaxLengthQuote = 60;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// -?(0|[1-9][0-9]*)
bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && digits_at(text, 0) == text.size() && (text.size() == 1 || text[0] != '0');
}

// True for everything that a YAML 1.1 or 1.2 reader may take for a number.
bool looks_like_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b")) return true;
  const std::size_t whole = digits_at(text, 0);
  std::size_t at = whole;
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = digits_at(text, at + 1);
    at += 1 + fraction;
  }
  if (whole + fraction == 0)
    return text == ".inf" || text == ".nan" || text == ".Inf" || text == ".NaN";
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    at += digits_at(text, at);
  }
  return at == text.size();
}

// True for the words that YAML 1.1 or 1.2 defines as a truth value or null, other than y and n:
// tensors have these names, and as keys of maps they need no quotes either. yaml-cpp reports `~` and
// most spellings of null as an empty value.
bool is_word(std::string_view text) {
  constexpr std::array<std::string_view, 7> words = {"true", "false", "yes", "no",
                                                     "on",   "off",   "null"};
  constexpr std::size_t longest = std::string_view("false").size();
  if (text.size() > longest) return false;
  return std::find(words.begin(), words.end(), lower(text)) != words.end();
}

bool is_ambiguous(const YamlValue& value) {
  return !value.quoted && (looks_like_number(value.text) || is_word(value.text));
}

std::string quote(std::string_view text) {
  const bool cut = text.size() > kMaxLengthQuote;
  std::size_t size = cut ? kMaxLengthQuote : text.size();
  while (cut && size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return concat("\"", text.substr(0, size), cut ? "...\"" : "\"");
}

}  // namespace

// Below, the text of a value that is no scalar is empty, which has no type.

bool yaml_integer(const YamlValue& value, std::int64_t& out) {
  if (value.quoted || !is_decimal(value.text)) return false;
  const char* end = value.text.data() + value.text.size();
  return std::from_chars(value.text.data(), end, out).ec == std::errc();
}

bool yaml_number(const YamlValue& value, double& out) {
  if (value.quoted || !looks_like_number(value.text)) return false;
  const char* end = value.text.data() + value.text.size();
  const auto read = std::from_chars(value.text.data(), end, out, std::chars_format::general);
  return read.ec == std::errc() && read.ptr == end;
}

bool yaml_boolean(const YamlValue& value, bool& out) {
  if (value.quoted || (value.text != "true" && value.text != "false")) return false;
  out = value.text == "true";
  return true;
}

bool yaml_text(const YamlValue& value) {
  return value.kind == YamlKind::scalar && !is_ambiguous(value);
}

std::string yaml_found(const YamlValue& value) {
  switch (value.kind) {
    case YamlKind::nothing:
      return "nothing";
    case YamlKind::list:
      return "a list";
    case YamlKind::map:
      return "a map";
    case YamlKind::scalar:
      break;
  }
  return concat(value.quoted ? "text " : "", quote(value.text));
}

std::string yaml_expected(std::string_view what, const YamlValue& found) {
  return concat("expected ", what, ", found ", yaml_found(found));
}

}  // namespace gantry
