// SPDX-License-Identifier: Apache-2.0
//
// Suggests known names for an unknown one: "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The number of known names that an error lists; `and 7 more` follows them.
constexpr std::size_t max_listed_names = 16;

// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`;
// 256 if one of them is longer than 256 bytes.
//
// costs    O(|a| * |b|) time, O(|b|) memory
std::size_t edit_distance(std::string_view a, std::string_view b);

// Up to three names whose edit distance is at most a third of the length of `wrong` (at least 1, at
// most 3), nearest first, then bytewise. A name that differs only in case has the distance 0; one
// that shares no character is omitted.
std::vector<std::string> near_names(std::string_view wrong,
                                    const std::vector<std::string_view>& names);

// `, did you mean "a" or "b"`; empty if near_names() is.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string_view>& names);

}  // namespace gantry
