// SPDX-License-Identifier: Apache-2.0
//
// Divides flows into sheets that a person can read. A flow with many nodes is folded: consecutive nodes are one
// node of the sheet above, at places where few tensors cross.
//
//     sheet 0 "main"   x -> [24 operators] -> [21 operators] -> output
//     sheet 1          (from x) -> conv2d -> relu -> ... -> (to matmul)
#pragma once

#include "tools/gantry/draw/flow.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry::cli {

struct SheetLimits {
  // of one sheet; more are folded
  std::size_t nodes = 80;
  // nodes of a fold, about
  std::size_t fold = 24;
  // of each side of a sheet; further ones are one port
  std::size_t ports = 12;
};

struct Sheet {
  std::string title;
  // SIZE_MAX: of a whole flow
  std::size_t parent = SIZE_MAX;
  std::size_t flow = 0;
  // In their order. Edges to earlier ones are loops.
  std::vector<FlowNode> nodes;
  std::vector<FlowEdge> edges;
};

// Sheet i is that of flow i, for all flows; the sheets of their folds follow.
//
// costs    O((nodes + edges) log nodes)
std::vector<Sheet> sheets_of(const Drawing& drawing, const SheetLimits& limits = {});

}  // namespace gantry::cli
