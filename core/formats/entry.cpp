// SPDX-License-Identifier: Apache-2.0
#include "core/formats/entry.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

namespace gantry {

EntryLocation::EntryLocation(std::string_view type_key, std::string_view file_name)
    : text_(concat(std::string(room, ' '), " ", quoted(type_key), " of ", file_name)) {}

std::string_view EntryLocation::of(std::size_t index) {
  std::size_t begin = room;
  do {
    text_[--begin] = static_cast<char>('0' + index % 10);
    index /= 10;
  } while (index != 0);
  begin -= prefix.size();
  prefix.copy(&text_[begin], prefix.size());
  return std::string_view(text_).substr(begin);
}

std::string location_of_entry(std::size_t index, std::string_view type_key,
                              std::string_view file_name) {
  return std::string(EntryLocation(type_key, file_name).of(index));
}

}  // namespace gantry
