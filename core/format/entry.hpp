// SPDX-License-Identifier: Apache-2.0
//
// One module of a container: its type key and its payload.
#pragma once

#include "core/format/type_key.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// How the end of a payload was found.
enum class Boundary : std::uint8_t {
  // the container holds its length, or it has none
  exact,
  // its payload layout was followed to the end, or its plugin reported the length
  laid_out,
  // unknown layout, but everything around it is delimited
  recovered,
  // unknown layout; a search for known keys found one offset where the entries behind it can begin.
  // The offsets of those entries are part of the guess, whatever their own boundary
  guessed,
  // unknown layout; the bytes up to the next known offset belong to it and its successors
  unknown,
};

// "exact", "laid-out", "recovered", "guessed", "unknown".
constexpr std::string_view name_of(Boundary boundary) {
  constexpr std::string_view names[] = {"exact", "laid-out", "recovered", "guessed", "unknown"};
  return names[static_cast<std::size_t>(boundary)];
}

struct Entry {
  // points into the container; empty: lost behind an entry of unknown length
  std::string_view type_key;
  // of the payload, from the container's first byte
  std::uint64_t at = 0;
  // points into the container
  std::span<const std::uint8_t> payload;
  Boundary boundary = Boundary::exact;

  bool is_library() const { return type_key == library_key; }
};

// The location of an entry in messages: `entry 2 "cuda" of model.so`.
std::string location_of_entry(std::size_t index, std::string_view type_key,
                              std::string_view file_name);

}  // namespace gantry
