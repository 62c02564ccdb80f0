// SPDX-License-Identifier: Apache-2.0
//
// Reads the structured items of payloads: dtype, format, array record, kernel record. Part of
// payload_walk.cpp.
#pragma once

#include "core/formats/detail_sink.hpp"

#include <gantry/blob_facts.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <string>
#include <string_view>

namespace gantry {

// The input and output of a walk over a payload.
struct PayloadWalk {
  ByteReader& in;
  // of kernel records
  ArgumentTags form = ArgumentTags::no;
  // NULL: no details are added
  DetailSink* sink = nullptr;
};

// Each moves `walk.in` over one item.
//
// name     name of the item, for errors
// out      [out]  content of the item; may be NULL
// returns  malformed at the first invalid field; the offset of walk.in is unspecified then

// Returns the text of a dtype, "float32x4"; empty if the walk has no sink.
Result<std::string> walk_dtype(PayloadWalk& walk, const char* name);
Status walk_format(PayloadWalk& walk, const char* name, Detail* out);
Status walk_text(PayloadWalk& walk, const char* name, std::string_view expected, Detail* out);
// Checks only the fields that determine the length. Loading the array checks its shape and size.
Status walk_array(PayloadWalk& walk, const char* name, Detail* out);
// Form: str name; vec<dtype> arguments; vec<str> launch tags; since v0.21 vec<i32> argument tags.
Status walk_kernel(PayloadWalk& walk, Detail* out);

}  // namespace gantry
