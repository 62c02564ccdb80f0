// SPDX-License-Identifier: Apache-2.0
//
// Assigns memory slots to the tensors of a graph. Tensors that are never alive together may share
// one.
//
//     operator      0    1    2    3         slot
//     a           [======]                   0
//     b                [======]              1
//     c                     [======]         0, grown to the larger of a and c
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

// The lifetime of a tensor: from the operator that writes it to the last one that reads it. Both
// are included, because an operator's output must not overlap its input.
struct TensorLife {
  std::uint64_t bytes = 0;
  std::size_t first = 0;
  // >= first
  std::size_t last = 0;
  // false: inputs, parameters and outputs of the graph, whose content is preserved
  bool shared = true;
};

// Returns the slot of each tensor, numbered from 0 in the order of first use. A slot has the size
// of its largest tensor.
//
// tensors  [in]   in the order of creation: `first` never decreases
// costs    O(tensors * slots)
std::vector<std::size_t> plan_storage(std::span<const TensorLife> tensors);

}  // namespace gantry
