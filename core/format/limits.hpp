// SPDX-License-Identifier: Apache-2.0
//
// What the reader accepts at most. Larger is refused as malformed or cut short in what is shown; the
// numbers are far above anything an exporter writes.
#pragma once

#include <cstdint>

namespace gantry::limits {

inline constexpr std::uint64_t type_key_bytes = 256;
// of one array record
inline constexpr std::uint64_t array_dimensions = 64;
// nesting of a payload layout
inline constexpr std::uint64_t layout_depth = 8;
// of one payload layout
inline constexpr std::uint64_t layout_fields = 64;
// entries measured in search of a lost one
inline constexpr std::uint64_t recovery_trials = 256;
// Shown of one payload: one detail for so many bytes, but never fewer than the least nor more than the most.
// A detail takes about 100 bytes of memory, three times that while its list grows; the shortest item
// of a payload takes 4.
inline constexpr std::uint64_t bytes_per_detail = 48;
inline constexpr std::uint64_t min_details = 2048;
inline constexpr std::uint64_t max_details = 65536;
inline constexpr std::uint64_t detail_text_bytes = 256;

}  // namespace gantry::limits
