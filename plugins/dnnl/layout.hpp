// SPDX-License-Identifier: Apache-2.0
//
// Layouts as exporters write them: "NCHW", "NHWC", "OIHW16i16o". Capitals are dimensions, in the
// order of the memory; a number and a small letter is a block of a dimension, innermost last.
//
//     tensor float32[1, 2, 8, 8, 16], layout "NCHW16c"  ->  dimensions N 1, C 32, H 8, W 8
//
// oneDNN's primitives require the dimensions in one order: N, C, spatial; O, I, spatial.
#pragma once

#include "lowering.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::dnnl_plugin {

struct Layout {
  struct Block {
    char letter;
    std::int64_t size;
  };
  // capitals
  std::string letters;
  std::vector<Block> blocks;
};

// attribute [in]  name of the attribute that has the layout, for errors
// letters  [in]   the dimensions that it must have, in the order of the primitive
// returns  UNSUPPORTED  the layout has other letters, or blocks between its capitals
Result<Layout> parse_layout(const Operator& op, std::string_view attribute, std::string_view text,
                            std::string_view letters);

// Returns a tensor with its dimensions in the order of `letters`. Blocks for which oneDNN has no name cost a copy.
//
// extents  [in]   of the dimensions, where blocks have room for more: 1000 in [21, 48]; empty: all
// returns  MALFORMED  its rank is not that of the layout
Result<View> in_order(const Operator& op, const View& view, const Layout& layout,
                      std::string_view letters, const Dims& extents = {});

// The reverse: returns a tensor of dimensions in the order of `letters` as the graph stores it.
//
// shape    [in]   of the tensor in the graph
Result<View> in_graph_order(const Operator& op, const View& view, const Layout& layout,
                            std::string_view letters, const Dims& shape);

// Returns the extents of the dimensions in the order of `letters`.
//
// shape    [in]   of the tensor in the graph
Result<Dims> ordered_dims(const Operator& op, const Dims& shape, const Layout& layout,
                          std::string_view letters);

}  // namespace gantry::dnnl_plugin
