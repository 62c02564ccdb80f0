// SPDX-License-Identifier: Apache-2.0
//
// Reads an argument that is a shape.
#pragma once

#include <gantry/call.hpp>

namespace gantry::relax {

// returns  INVALID  the argument is of another kind, or absent
// lifetime as long as the argument
inline Result<std::span<const std::int64_t>> shape_argument(const Call& call, std::size_t i) {
  if (const auto shape = i < call.args.size() ? value_shape(call.args[i]) : std::nullopt)
    return *shape;
  return call.wrong(i, "a shape");
}

}  // namespace gantry::relax
