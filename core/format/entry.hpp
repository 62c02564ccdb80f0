// SPDX-License-Identifier: Apache-2.0
//
// One module of a container: its type key and where its payload lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gantry {

// The type key of host code. It has no payload: the library that holds the container is the module.
inline constexpr std::string_view library_key = "_lib";

// How we know where a payload ends.
enum class Boundary : std::uint8_t {
  // its length stands in the container, or it has none
  exact,
  // its payload layout was followed to the end
  laid_out,
  // unknown layout, but everything around it is delimited
  recovered,
  // unknown layout; a search for known keys found one place where the entries behind it can begin.
  // Where those lie is part of the guess, however each of them is marked
  guessed,
  // unknown layout; the bytes up to the next thing we know belong to it and its successors
  unknown,
};

// "exact", "laid-out", "recovered", "guessed", "unknown".
constexpr std::string_view name_of(Boundary boundary) {
  constexpr std::string_view names[] = {"exact", "laid-out", "recovered", "guessed", "unknown"};
  return names[static_cast<std::size_t>(boundary)];
}

struct Entry {
  // points into the container; empty: lost behind an unknown one
  std::string_view type_key;
  // of the payload, from the container's first byte
  std::uint64_t at = 0;
  // points into the container
  std::span<const std::uint8_t> payload;
  Boundary boundary = Boundary::exact;

  bool is_library() const { return type_key == library_key; }
};

}  // namespace gantry
