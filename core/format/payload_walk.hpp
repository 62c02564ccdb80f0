// SPDX-License-Identifier: Apache-2.0
//
// Follows one payload layout over bytes, to find where the payload ends or what it holds.
#pragma once

#include "core/format/detail_sink.hpp"
#include "core/format/payload_layout.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>

namespace gantry {

// Moves `in` over one payload.
//
// has_argument_tags  kernel records end in argument tags
// sink     where labelled fields are added; null: nowhere
// returns  malformed at the first field that does not fit; `in` may stand anywhere then
// costs    O(items); texts and arrays of numbers are stepped over. The recursion is as deep as the
//          layout, which its author wrote, never as the payload
Status walk_payload(ByteReader& in, const PayloadLayout& layout, bool has_argument_tags,
                    DetailSink* sink = nullptr);

// The fewest bytes that a field takes, and the exact number where it is fixed (else 0).
std::uint64_t min_bytes(const PayloadField& field);
std::uint64_t fixed_bytes(const PayloadField& field);

}  // namespace gantry
