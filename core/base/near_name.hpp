// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the names that a wrong one was most likely meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
// costs    O(|a| * |b|) time, O(|b|) memory; names longer than 256 bytes count as far apart (256)
std::size_t edit_distance(std::string_view a, std::string_view b);

// Names within a third of the wrong name's length (at least 1, at most 3 edits), nearest first,
// then bytewise; at most three. A name that differs only in case is always near.
std::vector<std::string> near_names(std::string_view wrong,
                                    const std::vector<std::string_view>& names);

// `, did you mean "a" or "b"`; empty where no name is near.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string_view>& names);

}  // namespace gantry
