// SPDX-License-Identifier: Apache-2.0
#include "core/format/entry.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <charconv>
#include <iterator>

namespace gantry {

EntryLocation::EntryLocation(std::string_view type_key, std::string_view file_name)
    : behind_index_(concat(" ", quoted(type_key), " of ", file_name)) {}

std::string_view EntryLocation::of(std::size_t index) {
  char digits[20];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), index).ptr;
  text_.assign("entry ").append(digits, end).append(behind_index_);
  return text_;
}

std::string location_of_entry(std::size_t index, std::string_view type_key,
                              std::string_view file_name) {
  return std::string(EntryLocation(type_key, file_name).of(index));
}

}  // namespace gantry
