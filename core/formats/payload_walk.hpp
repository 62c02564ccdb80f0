// SPDX-License-Identifier: Apache-2.0
//
// Walks over a payload by its layout, to find its end or its content.
#pragma once

#include "core/formats/detail_sink.hpp"
#include "core/formats/payload_layout.hpp"
#include "core/formats/payload_parts.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>

namespace gantry {

// Moves `in` over one payload.
//
// form     of kernel records
// sink     labelled fields are added to it; may be NULL
// parts    see payload_parts.hpp; may be NULL
// returns  malformed at the first invalid field; the offset of `in` is unspecified then
// costs    O(items); the content of texts and arrays of numbers is skipped. The recursion depth is
//          that of the layout and does not depend on the payload
Status walk_payload(ByteReader& in, const PayloadLayout& layout, ArgumentTags form,
                    DetailSink* sink = nullptr, PayloadParts* parts = nullptr);

// The minimum size of a field, and its exact size if that is fixed, else 0.
std::uint64_t min_bytes(const PayloadField& field);
std::uint64_t fixed_bytes(const PayloadField& field);

}  // namespace gantry
