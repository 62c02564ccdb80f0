// SPDX-License-Identifier: Apache-2.0
//
// Small conversions of texts: columns, indentation, lines, numbers, bytes.
#pragma once

#include <gantry/message.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Returns the text up to its first line break.
inline std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// Appends blanks to a text that is shorter than `width`.
inline std::string pad(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

// Inserts `by` before every line but the first.
inline Message indent(const Message& text, std::string_view by) {
  std::string out;
  for (const char c : text.text()) {
    out += c;
    if (c == '\n') out += by;
  }
  return Message::lines(out);
}

// Returns a line of a report with its line break. The parts are escaped as those of a Message.
template <class... Parts>
std::string text_line(const Parts&... parts) {
  return Message(parts...).text() + '\n';
}

// Replaces ASCII letters by their capitals.
inline std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

// Replaces ASCII capitals by their small letters.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// True for the characters of a C identifier: ASCII letters, digits and '_'.
constexpr bool is_identifier_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

constexpr bool is_c_identifier(std::string_view text) {
  return !text.empty() && (text.front() < '0' || text.front() > '9') &&
         std::ranges::all_of(text, is_identifier_character);
}

// Returns the decimal number that the whole text is; nullopt if it is none or out of range.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

// Splits "ccache gcc -m64" at blanks. Quotes have no special meaning.
inline std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(blanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// Each returns a view of the other's bytes.
inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace gantry
