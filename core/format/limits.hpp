// SPDX-License-Identifier: Apache-2.0
//
// Limits of the reader. A larger value is refused as malformed, and larger details are cut.
// Exporters stay far below all of them.
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
// entries measured while the end of a lost payload is searched
inline constexpr std::uint64_t recovery_trials = 256;
// Details of one payload: one for each bytes_per_detail bytes, but at least min_details and at most
// max_details. A detail takes about 100 bytes of memory, three times that while its list grows; the
// shortest item of a payload takes 4.
inline constexpr std::uint64_t bytes_per_detail = 48;
inline constexpr std::uint64_t min_details = 2048;
inline constexpr std::uint64_t max_details = 65536;
inline constexpr std::uint64_t detail_text_bytes = 256;

}  // namespace gantry::limits
