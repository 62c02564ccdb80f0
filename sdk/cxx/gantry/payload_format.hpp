// SPDX-License-Identifier: Apache-2.0
//
// gantry/payload_format.hpp - the name of the code's format, with which most device payloads begin:
// "ptx", "awsxclbin".
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace gantry {

// Distinguishes a format from a count.
constexpr std::size_t max_format_bytes = 16;

// Not empty, not longer, and printable.
inline bool is_format(std::string_view text) {
  return !text.empty() && text.size() <= max_format_bytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace gantry
