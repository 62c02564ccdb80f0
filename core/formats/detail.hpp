// SPDX-License-Identifier: Apache-2.0
//
// One field of a payload and its subfields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A tree that tools print as text or JSON. Texts are unmodified bytes from the file: escape them.
struct Detail {
  enum class Kind : std::uint8_t {
    // `value` is a text
    text,
    // `value` is a decimal number
    number,
    // the field is data; `value` is its size in bytes
    size,
    // `children` are items, whose names may be empty
    list,
    // `children` are fields
    record,
  };
  Kind kind = Kind::record;
  std::string name;
  std::string value;
  std::vector<Detail> children;

  // Returns the child of that name, or NULL.
  const Detail* find(std::string_view child) const {
    for (const Detail& each : children) {
      if (each.name == child) return &each;
    }
    return nullptr;
  }
};

}  // namespace gantry
