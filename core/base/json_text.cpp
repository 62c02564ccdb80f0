// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_text.hpp"

#include <gantry/utf8.hpp>

#include <algorithm>
#include <cstdint>

namespace gantry {
namespace {

constexpr std::uint32_t replacement = 0xfffd;

// True for characters that JSON does not require to be escaped.
bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// Size of the longest prefix of a UTF-8 sequence at `at`, where no complete sequence begins: at
// least 1 byte.
//
// source   Unicode 15, section 3.9 (maximal subpart) and table 3-7
std::size_t broken_size(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  const std::size_t size = first < 0xc2 || first > 0xf4 ? 1
                           : first < 0xe0               ? 2
                           : first < 0xf0               ? 3
                                                        : 4;
  unsigned min = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned max = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  std::size_t count = 1;
  for (; count < size && at + count < text.size(); ++count) {
    if (byte(count) < min || byte(count) > max) break;
    min = 0x80, max = 0xbf;
  }
  return count;
}

// Code point of one complete UTF-8 sequence.
std::uint32_t number_of(std::string_view character) {
  std::uint32_t number = static_cast<unsigned char>(character[0]);
  if (character.size() > 1) number &= 0xffu >> (character.size() + 1);
  for (const char c : character.substr(1))
    number = number << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return number;
}

void append_unit(std::string& out, std::uint32_t unit) {
  constexpr char digits[] = "0123456789abcdef";
  out.append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(digits[unit >> shift & 15]);
}

void append_escaped(std::string& out, std::uint32_t number) {
  constexpr std::string_view named = "\"\\\b\f\n\r\t", names = "\"\\bfnrt";
  if (const std::size_t i = number < 0x80 ? named.find(static_cast<char>(number)) : named.npos;
      i != named.npos) {
    out.append({'\\', names[i]});
  } else if (number > 0xffff) {
    append_unit(out, 0xd800 + ((number - 0x10000) >> 10));
    append_unit(out, 0xdc00 + ((number - 0x10000) & 0x3ff));
  } else {
    append_unit(out, number);
  }
}

}  // namespace

void append_json_text(std::string& out, std::string_view text, bool ascii) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const auto plain_end =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_plain);
    const auto end = static_cast<std::size_t>(plain_end - text.begin());
    out.append(text.substr(at, end - at));
    if (end == text.size()) break;
    const std::size_t size = utf8_size(text, end);
    const std::string_view character = size == 0 ? "\xef\xbf\xbd" : text.substr(end, size);
    const std::uint32_t number = size == 0 ? replacement : number_of(character);
    if (number < 0x20 || number == '"' || number == '\\' || (ascii && number >= 0x7f)) {
      append_escaped(out, number);
    } else {
      out.append(character);
    }
    at = end + (size == 0 ? broken_size(text, end) : size);
  }
  out.push_back('"');
}

}  // namespace gantry
