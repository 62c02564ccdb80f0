// SPDX-License-Identifier: Apache-2.0
//
// One module of a container: its type key and its payload.
#pragma once

#include "core/formats/type_key.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

// How the end of a payload was found.
enum class Boundary : std::uint8_t {
  // the container contains its length, or it has no payload
  exact,
  // by its payload layout, or its plugin reported the length
  laid_out,
  // unknown layout, but the offsets of everything around it are known
  recovered,
  // unknown layout; a search for known keys found one offset at which the following entries can
  // begin. The offsets of these entries are guesses, too, whatever their own boundary
  guessed,
  // unknown layout; the bytes up to the next known offset belong to it and the following entries
  unknown,
};

// "exact", "laid-out", "recovered", "guessed", "unknown".
constexpr std::string_view name_of(Boundary boundary) {
  constexpr std::string_view names[] = {"exact", "laid-out", "recovered", "guessed", "unknown"};
  return names[static_cast<std::size_t>(boundary)];
}

struct Entry {
  // points into the container; empty: unknown, since it follows an entry of unknown length
  std::string_view type_key;
  // offset of the payload from the container's first byte
  std::uint64_t at = 0;
  // points into the container
  std::span<const std::uint8_t> payload;
  Boundary boundary = Boundary::exact;

  bool is_library() const { return type_key == library_key; }
};

// The name of an entry in messages: `entry 2 "cuda" of model.so`.
std::string location_of_entry(std::size_t index, std::string_view type_key,
                              std::string_view file_name);

// The names of several entries of one type key. Only the constructor allocates.
class EntryLocation {
 public:
  EntryLocation(std::string_view type_key, std::string_view file_name);

  // Returns location_of_entry(), valid until the next call.
  std::string_view of(std::size_t index);

 private:
  static constexpr std::string_view prefix = "entry ";
  // of the prefix and the digits of an index, which end here
  static constexpr std::size_t room =
      prefix.size() + std::numeric_limits<std::size_t>::digits10 + 1;

  // starts with `room` bytes for prefix and index
  std::string text_;
};

}  // namespace gantry
