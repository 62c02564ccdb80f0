// SPDX-License-Identifier: Apache-2.0
//
// Writes sheets as SVG.
#pragma once

#include "tools/gantry/common/text_sink.hpp"
#include "tools/gantry/draw/layout.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// A drawing with all that its writers need.
struct PlacedDrawing {
  Drawing drawing;
  std::vector<Sheet> sheets;
  // by sheet
  std::vector<Placement> placements;
  // the largest share of a node; negative: no profile
  double max_share = -1;
};

// Divides a drawing into sheets and places their nodes: with Graphviz if `search` finds it, else in layers.
//
// warning  [out]  why Graphviz, which is installed, has not placed them; empty: it has, or is not installed
PlacedDrawing placed(Drawing drawing, const ProgramSearch& search,
                     const std::filesystem::path& temporary, std::string& warning);

// The rules for the classes of write_sheet(), in both.
std::string_view drawing_style();

// Writes a sheet as one element `svg`.
//
// index  [in]   of the sheet. Nodes have the ids "s<index>n<node>" and can be focused
void write_sheet(const PlacedDrawing& drawing, std::size_t index, const TextSink& sink);

// Writes the colours of shares as an element `svg`. Precondition: the drawing has times.
void write_legend(const PlacedDrawing& drawing, const TextSink& sink);

// Writes a document with the sheets of all flows, without those of folds.
void write_svg(const PlacedDrawing& drawing, const TextSink& sink);

// "12.5", "12": pixels need no more digits.
std::string px(double value);

// "12.3 %", "0.04 %"
std::string share_text(double share);

}  // namespace gantry::cli
