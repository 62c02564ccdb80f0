// SPDX-License-Identifier: Apache-2.0
//
// A table of text; each column is as wide as its widest cell.
//
//     index  type key  bytes
//         0  _lib          0
#pragma once

#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_sink.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace gantry::cli {

enum class Align { left, right };

struct TableColumn {
  std::string title;
  Align align = Align::left;
};

struct TableCell {
  TableCell(const std::string& cell_text, Tone cell_tone = Tone::plain)  // NOLINT: implicit
      : text(cell_text), tone(cell_tone) {}
  TableCell(const char* cell_text) : text(cell_text) {}  // NOLINT: implicit by design
  // one line
  Message text;
  Tone tone = Tone::plain;
};
using TableRow = std::vector<TableCell>;

// Writes a header and rows without trailing blanks. If the terminal is too narrow, cells of the
// last column are truncated and end in "...".
//
// row_of   [in]   returns one cell for each column; called twice for each row, first for its widths
// indent   [in]   blanks before each line
void write_table(const std::vector<TableColumn>& columns, std::size_t rows,
                 const std::function<TableRow(std::size_t index)>& row_of, const Terminal& terminal,
                 const TextSink& sink, int indent = 2);

}  // namespace gantry::cli
