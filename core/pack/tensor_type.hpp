// SPDX-License-Identifier: Apache-2.0
//
// The type of a tensor in the notation of recipes: "float32[1, 64]", "int64[]".
#pragma once

#include <gantry/dtype_text.hpp>

#include <vector>

namespace gantry {

struct TensorType {
  gantry_dtype dtype{};
  // empty: a scalar
  std::vector<std::int64_t> shape;
};

bool same_type(const TensorType& a, const TensorType& b);

// "float32[1, 64]".
std::string type_text(const TensorType& type);

// returns  malformed unless the text is a dtype and, in brackets, up to 32 extents >= 0
Result<TensorType> parse_type(std::string_view text);

}  // namespace gantry
