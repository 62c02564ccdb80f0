// SPDX-License-Identifier: Apache-2.0
//
// Collects the details of one payload, up to a limit.
#pragma once

#include "core/formats/detail.hpp"
#include "core/formats/limits.hpp"

#include <gantry/concat.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// The values of at most `max` labelled fields, in order of the walk.
struct DetailSink {
  Detail root;
  std::uint64_t max = limits::min_details;
  std::uint64_t items = 0;
  // true: there are more than `max`
  bool cut = false;
  // see ExporterFacts
  bool has_private_float_codes = false;

  // Adds a child to `to`. Returns NULL at the limit.
  //
  // lifetime until the next child is added to `to`
  Detail* add(Detail& to);
  // Each adds one field, or nothing at the limit.
  void add_text(Detail& to, std::string_view name, std::string_view text);
  void add_number(Detail& to, std::string_view name, std::integral auto number) {
    if (Detail* const out = add(to))
      *out = {Detail::Kind::number, std::string(name), concat(number), {}};
  }
  // Returns NULL at the limit.
  Detail* add_list(Detail& to, std::string_view name);
};

// Set the value of one detail; do nothing if `out` is NULL. For a text over the limit, the size is
// set.
void set_text(Detail* out, std::string_view text);
void set_size(Detail* out, std::uint64_t size);

// Moves the value of an item's field `name` into the item's name.
void take_name(Detail& item);

}  // namespace gantry
