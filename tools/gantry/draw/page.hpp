// SPDX-License-Identifier: Apache-2.0
//
// Writes a drawing as a page of HTML that contains all that it needs: sheets, rules, a script for search, keys
// and folds. Nothing is loaded from anywhere. Without scripts all sheets are visible, one below the other.
//
// A report writes its own page around write_page_body(), with page_style() and page_script().
#pragma once

#include "tools/gantry/draw/svg.hpp"

#include <string_view>

namespace gantry::cli {

// For an element `style` and an element `script`; neither has "</".
std::string page_style();
std::string_view page_script();

// Writes an element `section` with the sheets and what selects them, and one with a table of the operators if
// they have times.
void write_page_body(const PlacedDrawing& drawing, const TextSink& sink);

void write_page(const PlacedDrawing& drawing, const TextSink& sink);

}  // namespace gantry::cli
