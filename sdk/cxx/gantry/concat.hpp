// SPDX-License-Identifier: Apache-2.0
//
// gantry/concat.hpp - words and numbers joined to a text: concat("edge ", 3, " names module ", 4).
//
// One function out of line joins them: texts are many, mostly of errors, and each would be code at its place.
#pragma once

#include <charconv>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace gantry {

// A number as 0x1c40: offsets and addresses are printed so, counts and sizes in decimal.
struct Hex {
  std::uint64_t value;
};

namespace detail {
// How one word or number of a text reaches joined(): by a letter, and by what goes through "...".
//
//     text of a literal, a std::string, a view      t s v   a pointer to it
//     character, truth                              c b     int
//     hex, natural, integer                         x n i   64 bits
//     float, double                                 f d     double
template <class T>
constexpr char kind_of() {
  if constexpr (std::is_same_v<T, Hex>) return 'x';
  if constexpr (std::is_same_v<T, char>) return 'c';
  if constexpr (std::is_same_v<T, bool>) return 'b';
  if constexpr (std::is_same_v<T, float>) return 'f';
  if constexpr (std::is_same_v<T, double>) return 'd';
  if constexpr (std::is_same_v<T, std::string>) return 's';
  if constexpr (std::is_same_v<T, std::string_view>) return 'v';
  if constexpr (std::is_integral_v<T>) return std::is_signed_v<T> ? 'i' : 'n';
  return 't';
}

template <class T>
auto passed(const T& from) {
  if constexpr (std::is_same_v<T, Hex>) {
    return from.value;
  } else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, bool>) {
    return static_cast<int>(from);
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) <= sizeof(double));
    return static_cast<double>(from);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<std::int64_t>(from);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(from);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
    return &from;
  } else {
    return static_cast<const char*>(from);
  }
}

// One array for all texts that are made of the same kinds of parts.
template <char... Kinds>
[[gnu::visibility("hidden")]] inline constexpr char kinds[] = {Kinds..., 0};

// kinds    [in]   a letter for each of `parts`, then 0
inline void append(std::string& to, const char* kinds, std::va_list& parts) {
  for (; *kinds != 0; ++kinds) {
    char digits[40];
    char* const limit = digits + sizeof digits;
    char* end = digits;
    switch (*kinds) {
      case 't':
        to.append(va_arg(parts, const char*));
        continue;
      case 's':
        to.append(*va_arg(parts, const std::string*));
        continue;
      case 'v':
        to.append(*va_arg(parts, const std::string_view*));
        continue;
      case 'b':
        to.append(va_arg(parts, int) != 0 ? "true" : "false");
        continue;
      case 'c':
        *end++ = static_cast<char>(va_arg(parts, int));
        break;
      case 'x':
        to.append("0x");
        end = std::to_chars(digits, limit, va_arg(parts, std::uint64_t), 16).ptr;
        break;
      case 'n':
        end = std::to_chars(digits, limit, va_arg(parts, std::uint64_t)).ptr;
        break;
      case 'i':
        end = std::to_chars(digits, limit, va_arg(parts, std::int64_t)).ptr;
        break;
      case 'f':
        end = std::to_chars(digits, limit, static_cast<float>(va_arg(parts, double))).ptr;
        break;
      case 'd':
        end = std::to_chars(digits, limit, va_arg(parts, double)).ptr;
        break;
    }
    to.append(digits, static_cast<std::size_t>(end - digits));
  }
}

[[gnu::noinline]] inline std::string joined(const char* kinds, ...) {
  std::va_list parts;
  va_start(parts, kinds);
  std::string text;
  append(text, kinds, parts);
  va_end(parts);
  return text;
}
}  // namespace detail

// Text, char, bool, numbers, Hex, in any mix.
template <class... Parts>
std::string concat(const Parts&... parts) {
  return detail::joined(detail::kinds<detail::kind_of<Parts>()...>, detail::passed(parts)...);
}

}  // namespace gantry
