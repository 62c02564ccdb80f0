// SPDX-License-Identifier: Apache-2.0
//
// Collects the details of one payload, up to a limit.
#pragma once

#include "core/format/detail.hpp"
#include "core/format/limits.hpp"

#include <cstdint>
#include <string_view>

namespace gantry {

// The values of labelled fields, in order of the walk; at most `max` of them.
struct DetailSink {
  Detail root;
  std::uint64_t max = limits::min_details;
  std::uint64_t items = 0;
  bool cut = false;
  // see ExporterFacts
  bool has_private_float_codes = false;

  // A new child of `to`, or null at the limit; valid until the next one is added there.
  Detail* add(Detail& to);
};

// Each sets one detail, or does nothing where `out` is null. Of a text that is too long, the size
// is set.
void set_text(Detail* out, std::string_view text);
void set_size(Detail* out, std::uint64_t size);

// Moves the value of an item's field `name` into the item's name.
void take_name(Detail& item);

}  // namespace gantry
