// SPDX-License-Identifier: Apache-2.0
#include "core/format/entry.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

namespace gantry {

std::string location_of_entry(std::size_t index, std::string_view type_key,
                              std::string_view file_name) {
  return concat("entry ", index, " ", quoted(type_key), " of ", file_name);
}

}  // namespace gantry
