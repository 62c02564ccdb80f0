// SPDX-License-Identifier: Apache-2.0
//
// Writes a drawing as a page of HTML that contains all that it needs: sheets, rules, a script for search, keys
// and folds. Nothing is loaded from anywhere. Without scripts all sheets are visible, one below the other.
//
// A report writes its own content around write_page_body(), between write_page_head() and write_page_end().
#pragma once

#include "tools/gantry/draw/svg.hpp"

#include <string_view>

namespace gantry::cli {

// Writes a document up to its content.
//
// title    [in]   not yet escaped
// style    [in]   further rules
void write_page_head(std::string_view title, std::string_view style, const TextSink& sink);
// Writes the rest of the document.
//
// has_drawing  the content has that of write_page_body()
void write_page_end(bool has_drawing, const TextSink& sink);

// Writes an element `section` with the sheets and what selects them, and one with a table of the operators if
// they have times.
void write_page_body(const PlacedDrawing& drawing, const TextSink& sink);

void write_page(const PlacedDrawing& drawing, const TextSink& sink);

}  // namespace gantry::cli
