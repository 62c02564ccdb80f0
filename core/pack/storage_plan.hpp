// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of a graph share memory: two that are never alive together may.
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

// When a tensor is needed: from the operator that writes it to the last one that reads it, both included, as an
// operator's output must not lie over its input.
struct TensorLife {
  std::uint64_t bytes = 0;
  std::size_t first = 0;
  // >= first
  std::size_t last = 0;
  // false: inputs, parameters and outputs of the graph, whose content stays
  bool shared = true;
};

// tensors  [in]   in the order in which they are made: `first` never falls
// returns  a slot for each tensor, numbered from 0 in the order of first use; a slot is as large as its largest tensor
// costs    O(tensors * slots)
std::vector<std::size_t> plan_storage(std::span<const TensorLife> tensors);

}  // namespace gantry
