// SPDX-License-Identifier: Apache-2.0
//
// Limits of the reader. A larger value is malformed; larger details are truncated. Values in real
// files are far below these limits.
#pragma once

#include <cstdint>

namespace gantry::limits {

inline constexpr std::uint64_t type_key_bytes = 256;
// dimensions of one array record
inline constexpr std::uint64_t array_dimensions = 64;
// nesting depth of a payload layout
inline constexpr std::uint64_t layout_depth = 8;
// fields of one payload layout
inline constexpr std::uint64_t layout_fields = 64;
// factors of one product in a payload layout
inline constexpr std::uint64_t layout_factors = 8;
// a number in a payload layout, and the product of those in one product
inline constexpr std::uint64_t layout_number = std::uint64_t{1} << 20;
// entries that are read while the end of a payload of unknown length is searched
inline constexpr std::uint64_t recovery_trials = 256;
// Number of details of one payload: one for each bytes_per_detail bytes of it, at least min_details
// and at most max_details. A detail takes about 100 bytes of memory, and up to three times that
// while its list grows; the shortest item of a payload takes 4 bytes.
inline constexpr std::uint64_t bytes_per_detail = 48;
inline constexpr std::uint64_t min_details = 2048;
inline constexpr std::uint64_t max_details = 65536;
inline constexpr std::uint64_t detail_text_bytes = 256;

}  // namespace gantry::limits
