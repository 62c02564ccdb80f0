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

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  struct Cell {
    Cell(std::string cell_text, Tone cell_tone = Tone::plain)  // NOLINT: implicit by design
        : text(std::move(cell_text)), tone(cell_tone) {}
    Cell(const char* cell_text) : text(cell_text) {}  // NOLINT: implicit by design
    // printable ASCII; names from files must be escaped first
    std::string text;
    Tone tone = Tone::plain;
  };
  using Row = std::vector<Cell>;
  using Rows = std::function<Row(std::size_t index)>;

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Precondition: one cell for each column.
  void add(Row row);
  bool empty() const { return rows_.empty(); }

  // indent   blanks before each line
  // returns  header and rows, each with a line break, without trailing blanks. If the terminal is
  //          too narrow, cells of the last column are truncated and end in "..."
  std::string text(const Terminal& terminal, int indent = 2) const;

  // The same without storing the rows: `row_of` is called twice for each row, first for its widths.
  static void write(const std::vector<Column>& columns, std::size_t rows, const Rows& row_of,
                    const Terminal& terminal, const TextSink& sink, int indent = 2);

 private:
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace gantry::cli
