// SPDX-License-Identifier: Apache-2.0
//
// Reads what a function has returned.
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// returns  invalid, reason VALUE_KIND
inline Failure wrong_kind(const gantry_value& value, std::string_view expected) {
  return invalid("value is ", kind_text(value.kind), ", expected ", expected)
      .with_reason("VALUE_KIND");
}

// Each returns the content of a value.
//
// returns  invalid  the value is of another kind: "value is a tensor, expected an integer" (VALUE_KIND)
inline Result<std::int64_t> integer_in(const gantry_value& value) {
  if (const auto number = value_int(value)) return *number;
  return wrong_kind(value, "an integer");
}
inline Result<std::string> text_in(const gantry_value& value) {
  if (const auto text = value_text(value)) return std::string(*text);
  return wrong_kind(value, "a string");
}
inline Result<std::vector<std::int64_t>> extents_in(const gantry_value& value) {
  if (const auto extents = value_shape(value)) return std::vector(extents->begin(), extents->end());
  return wrong_kind(value, "a shape");
}
// Returns the items of an array, or the keys and values of a map (key, value, key, value).
//
// lifetime as long as the value
inline Result<std::span<const gantry_value>> items_in(const gantry_value& value) {
  if (value.kind != GANTRY_ARRAY && value.kind != GANTRY_MAP)
    return wrong_kind(value, "an array or a map");
  return items_of(*value.object);
}

}  // namespace gantry
