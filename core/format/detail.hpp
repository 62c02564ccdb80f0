// SPDX-License-Identifier: Apache-2.0
//
// One field of a payload, with those inside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A small tree that a tool prints as text or JSON. Text comes from the file as it is: escape it.
struct Detail {
  enum class Kind : std::uint8_t {
    // value
    text,
    // value, decimal
    number,
    // value, a count of bytes: the field holds data
    size,
    // children, in order; their names may be empty
    list,
    // children, by name
    record,
  };
  Kind kind = Kind::record;
  std::string name;
  std::string value;
  std::vector<Detail> children;

  // The child of that name, or null.
  const Detail* find(std::string_view child) const {
    for (const Detail& each : children) {
      if (each.name == child) return &each;
    }
    return nullptr;
  }
};

}  // namespace gantry
