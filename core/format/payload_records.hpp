// SPDX-License-Identifier: Apache-2.0
//
// The items of a payload that have a form of their own: dtype, format, array record, kernel record.
// Part of payload_walk.cpp.
#pragma once

#include "core/format/detail_sink.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <string>
#include <string_view>

namespace gantry {

// What a walk over a payload reads from and adds to.
struct PayloadWalk {
  ByteReader& in;
  // kernel records end in argument tags
  bool has_argument_tags = false;
  // null: nothing is added
  DetailSink* sink = nullptr;
};

// Each moves `walk.in` over one item.
//
// name     of the item, for messages
// out      [out]  what the item holds; may be null
// returns  malformed at the first field that does not fit; walk.in may stand anywhere then

// The text of a dtype, "float32x4"; empty where the walk has no sink.
Result<std::string> walk_dtype(PayloadWalk& walk, const char* name);
Status walk_format(PayloadWalk& walk, const char* name, Detail* out);
Status walk_text(PayloadWalk& walk, const char* name, std::string_view expected, Detail* out);
// Only what delimits it is checked; whether shape and size agree is checked when it is loaded.
Status walk_array(PayloadWalk& walk, const char* name, Detail* out);
// str name; vec<dtype> arguments; vec<str> launch tags; since v0.21 vec<i32> argument tags.
Status walk_kernel(PayloadWalk& walk, Detail* out);

}  // namespace gantry
