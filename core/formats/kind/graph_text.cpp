// SPDX-License-Identifier: Apache-2.0
#include "core/formats/kind/graph_text.hpp"

#include "core/base/text.hpp"
#include "core/formats/graph_json.hpp"

#include <string_view>

namespace gantry {

bool is_graph_json(std::span<const std::uint8_t> bytes) {
  const std::string_view text = as_text(bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' && read_graph_json(text, 0).ok();
}

}  // namespace gantry
