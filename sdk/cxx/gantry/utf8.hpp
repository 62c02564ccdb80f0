// SPDX-License-Identifier: Apache-2.0
//
// gantry/utf8.hpp - encodes and validates UTF-8, and escapes bytes that are not UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// Returns the size of the character at `at` in bytes; 0 if it is not UTF-8. Overlong forms,
// surrogates and numbers above U+10FFFF are not UTF-8.
//
// source   RFC 3629
inline std::size_t utf8_size(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  if (size == 0 || first > 0xf4) return 0;
  std::uint32_t number = first & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    number = number << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = number >= 0xd800 && number <= 0xdfff;
  return number < min[size] || surrogate || number > 0x10ffff ? 0 : size;
}

inline bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_size(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

// Appends the character with a number of Unicode.
inline void append_utf8(std::string& to, std::uint32_t number) {
  constexpr std::uint32_t marks[] = {0, 0xc0, 0xe0, 0xf0};
  const int tails = number < 0x80 ? 0 : number < 0x800 ? 1 : number < 0x10000 ? 2 : 3;
  to.push_back(static_cast<char>(marks[tails] | number >> (6 * tails)));
  for (int i = tails - 1; i >= 0; --i)
    to.push_back(static_cast<char>(0x80 | (number >> (6 * i) & 0x3f)));
}

// Returns the text with every byte that is not UTF-8 replaced by \xNN.
inline std::string shown_utf8(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_size(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (size == 0) out.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
    out.append(text.substr(at, size));
    at += size == 0 ? 1 : size;
  }
  return out;
}

}  // namespace gantry
