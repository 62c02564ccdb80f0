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
// costs    O(bytes) at most; the content of texts, other than cstr, and of arrays of numbers is
//          skipped, and so are items without bytes, whatever their count is. The recursion depth is
//          that of the layout and does not depend on the payload
Status walk_payload(ByteReader& in, const PayloadLayout& layout, ArgumentTags form,
                    DetailSink* sink = nullptr, PayloadParts* parts = nullptr);

}  // namespace gantry
