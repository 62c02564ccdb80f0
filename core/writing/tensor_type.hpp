// SPDX-License-Identifier: Apache-2.0
//
// The type of a tensor in the notation of recipes: "float32[1, 64]", "int64[]".
#pragma once

#include <gantry/dtype_text.hpp>
#include <gantry/tensor_type.hpp>

namespace gantry {

bool same_type(const TensorType& a, const TensorType& b);

// "float32[1, 64]".
std::string type_text(const TensorType& type);

// returns  malformed unless the text is a dtype and, in brackets, up to 32 extents >= 0
Result<TensorType> parse_type(std::string_view text);

}  // namespace gantry
