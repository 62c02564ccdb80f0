// SPDX-License-Identifier: Apache-2.0
//
// gantry/payload_format.hpp - the name of the code format at the start of most device payloads:
// "ptx", "awsxclbin".
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace gantry {

// Longer texts are not the name of a format: the bytes are a count.
constexpr std::size_t max_format_bytes = 16;

// True if the text has 1 to max_format_bytes printable characters.
inline bool is_format(std::string_view text) {
  return !text.empty() && text.size() <= max_format_bytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace gantry
