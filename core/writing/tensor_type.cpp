// SPDX-License-Identifier: Apache-2.0
#include "core/writing/tensor_type.hpp"

#include "core/base/text.hpp"

#include <gantry/array_record.hpp>

namespace gantry {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Result<std::int64_t> parse_extent(std::string_view text) {
  const std::string_view digits = without_blanks(text);
  const auto extent = parse_number<std::int64_t>(digits);
  if (extent && *extent >= 0) return *extent;
  return malformed(no_offset, "extent ", quoted(digits), " is not an integer of at least 0");
}

}  // namespace

bool same_type(const TensorType& a, const TensorType& b) {
  return same_dtype(a.dtype, b.dtype) && a.shape == b.shape;
}

std::string type_text(const TensorType& type) { return type_text(type.dtype, type.shape); }

Result<TensorType> parse_type(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) {
    return malformed(no_offset, "tensor type ", quoted(text), " is not like float32[1, 64]");
  }
  TensorType type;
  GANTRY_TRY(type.dtype, parse_dtype(without_blanks(text.substr(0, open))));
  std::string_view left = without_blanks(text.substr(open + 1, text.size() - open - 2));
  while (!left.empty()) {
    const std::size_t comma = left.find(',');
    GANTRY_TRY(const std::int64_t extent, parse_extent(left.substr(0, comma)));
    type.shape.push_back(extent);
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
    if (left.empty()) return malformed(no_offset, "tensor type ", quoted(text), " ends in a comma");
  }
  if (type.shape.size() > max_array_dimensions) {
    return malformed(no_offset, "tensor type has ", type.shape.size(), " dimensions, maximum is ",
                     max_array_dimensions);
  }
  GANTRY_CHECK(tensor_bytes(type.shape, type.dtype));
  return type;
}

}  // namespace gantry
