// SPDX-License-Identifier: Apache-2.0
//
// gantry/concat.hpp - words and numbers joined to a text: concat("edge ", 3, " names module ", 4).
//
// One function out of line joins them: texts are many, mostly of errors, and each would be code at its place.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace gantry {

// A number as 0x1c40: offsets and addresses are printed so, counts and sizes in decimal.
struct Hex {
  std::uint64_t value;
};

namespace detail {
// One word or number of a text.
struct Part {
  enum class Kind : std::uint8_t {
    text,
    character,
    boolean,
    hex,
    natural,
    integer,
    single,
    number
  };
  Kind kind;
  std::size_t size = 0;  // of a text
  union {
    const char* data;
    std::uint64_t natural;
    std::int64_t integer;
    double number;
  };

  template <class T>
  static Part of(const T& from) {
    Part part;
    if constexpr (std::is_same_v<T, Hex>) {
      part.kind = Kind::hex, part.natural = from.value;
    } else if constexpr (std::is_same_v<T, char>) {
      part.kind = Kind::character, part.natural = static_cast<unsigned char>(from);
    } else if constexpr (std::is_same_v<T, bool>) {
      part.kind = Kind::boolean, part.natural = from;
    } else if constexpr (std::is_floating_point_v<T>) {
      static_assert(sizeof(T) <= sizeof(double));
      part.kind = std::is_same_v<T, float> ? Kind::single : Kind::number, part.number = from;
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      part.kind = Kind::integer, part.integer = from;
    } else if constexpr (std::is_integral_v<T>) {
      part.kind = Kind::natural, part.natural = from;
    } else {
      const std::string_view text(from);
      part.kind = Kind::text, part.data = text.data(), part.size = text.size();
    }
    return part;
  }

 private:
  Part() {}
};

[[gnu::noinline]] inline void append(std::string& to, const Part* parts, std::size_t count) {
  for (const Part& part : std::span(parts, count)) {
    char digits[40];
    char* const limit = digits + sizeof digits;
    char* end = digits;
    switch (part.kind) {
      case Part::Kind::text:
        to.append(part.data, part.size);
        continue;
      case Part::Kind::boolean:
        to.append(part.natural != 0 ? "true" : "false");
        continue;
      case Part::Kind::character:
        *end++ = static_cast<char>(part.natural);
        break;
      case Part::Kind::hex:
        to.append("0x");
        end = std::to_chars(digits, limit, part.natural, 16).ptr;
        break;
      case Part::Kind::natural:
        end = std::to_chars(digits, limit, part.natural).ptr;
        break;
      case Part::Kind::integer:
        end = std::to_chars(digits, limit, part.integer).ptr;
        break;
      case Part::Kind::single:
        end = std::to_chars(digits, limit, static_cast<float>(part.number)).ptr;
        break;
      case Part::Kind::number:
        end = std::to_chars(digits, limit, part.number).ptr;
        break;
    }
    to.append(digits, static_cast<std::size_t>(end - digits));
  }
}

[[gnu::noinline]] inline std::string joined(const Part* parts, std::size_t count) {
  std::string text;
  append(text, parts, count);
  return text;
}
}  // namespace detail

// Text, char, bool, numbers, Hex, in any mix.
template <class... Parts>
std::string concat(const Parts&... parts) {
  const detail::Part list[] = {detail::Part::of(parts)...};
  return detail::joined(list, sizeof...(parts));
}

}  // namespace gantry
