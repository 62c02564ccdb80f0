// SPDX-License-Identifier: Apache-2.0
//
// gantry/utf8.hpp - encodes and decodes UTF-8, and escapes what cannot be displayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// One character and its size in bytes; size 0: not UTF-8.
struct Utf8Character {
  std::size_t size = 0;
  std::uint32_t number = 0;
};

// Decodes the character at `at`. Overlong forms, surrogates and numbers above U+10FFFF are not
// UTF-8.
//
// source   RFC 3629
inline Utf8Character decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  if (size == 0 || first > 0xf4) return {};
  std::uint32_t number = first & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    number = number << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = number >= 0xd800 && number <= 0xdfff;
  if (number < min[size] || surrogate || number > 0x10ffff) return {};
  return {size, number};
}

inline bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = decode_utf8(text, at).size;
    if (size == 0) return false;
    at += size;
  }
  return true;
}

// Returns the number of characters of a text in UTF-8.
inline std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

// Returns the first `max` characters of a text.
inline std::string_view first_characters(std::string_view text, std::size_t max) {
  std::size_t end = 0;
  for (; max > 0 && end < text.size(); --max) {
    do ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  }
  return text.substr(0, end);
}

// Appends the character with a number of Unicode.
inline void append_utf8(std::string& to, std::uint32_t number) {
  constexpr std::uint32_t marks[] = {0, 0xc0, 0xe0, 0xf0};
  const int tails = number < 0x80 ? 0 : number < 0x800 ? 1 : number < 0x10000 ? 2 : 3;
  to.push_back(static_cast<char>(marks[tails] | number >> (6 * tails)));
  for (int i = tails - 1; i >= 0; --i)
    to.push_back(static_cast<char>(0x80 | (number >> (6 * i) & 0x3f)));
}

// True for characters that change how the text around them is displayed: control characters, line
// and paragraph separators, and the marks of bidirectional text.
//
// source   Unicode, general categories Cc, Zl and Zp; Standard Annex 9, Bidi_Control
constexpr bool is_text_control(std::uint32_t number) {
  return number < 0x20 || (number >= 0x7f && number < 0xa0) || number == 0x061c ||
         number == 0x200e || number == 0x200f || (number >= 0x2028 && number <= 0x202e) ||
         (number >= 0x2066 && number <= 0x2069);
}

// Appends one character of a text. The bytes of an is_text_control() and a byte that is not UTF-8
// become \xNN.
//
// returns  number of bytes of `text` that it read, at least 1
inline std::size_t append_escaped_at(std::string& to, std::string_view text, std::size_t at) {
  constexpr char digits[] = "0123456789abcdef";
  const Utf8Character character = decode_utf8(text, at);
  const std::string_view bytes = text.substr(at, character.size == 0 ? 1 : character.size);
  if (character.size != 0 && !is_text_control(character.number)) {
    to.append(bytes);
    return bytes.size();
  }
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    to.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
  }
  return bytes.size();
}

// Appends a text of which each character is escaped as append_escaped_at() does. A text that is
// already escaped does not change.
[[gnu::cold]] inline void append_escaped(std::string& to, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= 0x20 && text[at] < 0x7f) ++at;
    to.append(text.substr(begin, at - begin));
    if (at < text.size()) at += append_escaped_at(to, text, at);
  }
}

}  // namespace gantry
