// SPDX-License-Identifier: Apache-2.0
//
// gantry/join.hpp - joins the elements of a range: join(names, ", ", in_quotes, 16) returns
// "a", "b" and, for 20 names, ends with: and 4 more.
#pragma once

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gantry {

// Joins the texts of a range's elements.
//
// text_of  [in]   returns the text of an element, or a number; also a pointer to a member
// max      [in]   maximum number of elements shown; the number of the others follows them
// returns  an empty text for an empty range
template <class Range, class TextOf = std::identity>
std::string join(Range&& range, std::string_view separator = ", ", TextOf text_of = {},
                 std::size_t max = SIZE_MAX) {
  std::string text;
  std::size_t count = 0;
  for (const auto& element : range) {
    if (++count > max) continue;
    append(text, {TextPiece(count == 1 ? std::string_view() : separator),
                  TextPiece(std::invoke(text_of, element))});
  }
  if (count > max) append(text, {TextPiece(" and "), TextPiece(count - max), TextPiece(" more")});
  return text;
}

// For text_of.
constexpr auto in_quotes = [](std::string_view text) { return quoted(text); };

}  // namespace gantry
