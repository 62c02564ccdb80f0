// SPDX-License-Identifier: Apache-2.0
//
// The strides of compact tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gantry {

// Calls set(axis, stride) for each axis of a compact, row-major tensor, the last axis first. Unsigned,
// because the product of extents overflows where a later one is 0.
template <class Set>
void compact_strides(std::span<const std::int64_t> shape, const Set& set) {
  std::uint64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    set(axis, static_cast<std::int64_t>(stride));
    stride *= static_cast<std::uint64_t>(shape[axis]);
  }
}

}  // namespace gantry
