// SPDX-License-Identifier: Apache-2.0
//
// `inspect --draw`: the graphs and functions of a file as a picture, a page or text for Graphviz.
#pragma once

#include "tools/gantry/command.hpp"

#include "core/formats/inspect/report.hpp"
#include "tools/gantry/draw/svg.hpp"

#include <gantry/result.hpp>

#include <string>

namespace gantry::cli {

struct DrawOptions {
  // "svg", "html" or "dot"
  std::string form;
  // file; empty: standard output
  std::string output;
  // a document of `gantry bench --json`; empty: none
  std::string profile;
};

// Divides a drawing into sheets and places their nodes, with the programs of this machine.
PlacedDrawing placed_here(Drawing drawing, const Globals& globals);

// Writes the drawing completely or not at all.
//
// returns  those of drawing_of(), read_profile(), add_profile() and OutputFile
Status write_drawing(const InspectReport& report, const DrawOptions& options,
                     const Globals& globals);

}  // namespace gantry::cli
