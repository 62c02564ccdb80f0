// SPDX-License-Identifier: Apache-2.0
//
// Positions of the nodes and edges of a sheet, in pixels of SVG. Graphviz computes them where it is installed, else
// place_layered(). One result serves SVG and HTML; Graphviz gets sizes and numbers only, no text of a file.
#pragma once

#include "tools/gantry/draw/sheet.hpp"

#include "core/base/find_program.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct Point {
  double x = 0, y = 0;
};

struct Size {
  double width = 0, height = 0;
};

struct Placement {
  Size size;
  // centers, by node
  std::vector<Point> nodes;
  // By edge: a cubic Bezier curve, the first point and three for each part. Empty: not drawn.
  std::vector<std::vector<Point>> edges;
};

// The size of a node's box.
Size box_of(const FlowNode& node);
// around what is drawn
inline constexpr double layout_margin = 12;
// of the text of nodes
inline constexpr double line_height = 15, title_height = 17, character_width = 7.3;

// Layers from top to bottom: each node is below those that it reads.
//
// costs    O(edges * layers * log)
Placement place_layered(const Sheet& sheet);

// Starts Graphviz's program `dot` once, for all sheets.
//
// temporary  [in]   directory of temporary files
// returns  unavailable  it is not installed, fails, or has not ended in time; its output is not understood
Result<std::vector<Placement>> place_with_graphviz(const std::vector<Sheet>& sheets,
                                                   const ProgramSearch& search,
                                                   const std::filesystem::path& temporary);

// Reads the output of `dot -Tplain` for sheets.
Result<std::vector<Placement>> read_plain(std::string_view text, const std::vector<Sheet>& sheets);

}  // namespace gantry::cli
