// SPDX-License-Identifier: Apache-2.0
//
// Where the facts of one payload are gathered, and no more of them than can be shown.
#pragma once

#include "core/format/detail.hpp"
#include "core/format/limits.hpp"

#include <cstdint>
#include <string_view>

namespace gantry {

// Where a walk leaves what labelled fields say. Stops adding at `most`.
struct DetailSink {
  Detail root;
  std::uint64_t max = limits::min_details;
  std::uint64_t items = 0;
  bool cut = false;
  // see PayloadContext
  bool private_float_codes = false;

  // A new child of `to`, or null where there are enough; valid until the next one is added there.
  Detail* add(Detail& to);
};

// Each fills one detail; null is one that nobody sees. Of a text that is too long its size is told.
void say(Detail* out, std::string_view text);
void say_size(Detail* out, std::uint64_t size);

// Calls an item that has a field `name` by it.
void take_name(Detail& item);

}  // namespace gantry
