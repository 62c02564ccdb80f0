// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/text_table.hpp"

#include <gantry/utf8.hpp>

#include <algorithm>
#include <cassert>

namespace gantry::cli {
namespace {

// blanks between two columns
constexpr std::size_t gap = 2;
// min width of a truncated column
constexpr std::size_t min_cut = 12;

}  // namespace

void write_table(const std::vector<TableColumn>& columns, std::size_t rows,
                 const std::function<TableRow(std::size_t index)>& row_of, const Terminal& terminal,
                 const TextSink& sink, int indent) {
  std::vector<std::size_t> widths;
  for (const TableColumn& column : columns) widths.push_back(count_characters(column.title));
  for (std::size_t index = 0; index < rows; ++index) {
    const TableRow row = row_of(index);
    assert(row.size() == columns.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], count_characters(row[i].text));
    }
  }

  std::size_t before_last = static_cast<std::size_t>(indent);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + gap;
  const auto width = static_cast<std::size_t>(terminal.width);
  const std::size_t max_last =
      width == 0 ? SIZE_MAX : std::max(min_cut, width > before_last ? width - before_last : 0);

  const auto write_line = [&](const TableRow& row) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    // written before the next cell that is not empty: lines have no trailing blanks
    std::size_t pending_blanks = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      Message cell = row[i].text;
      if (i + 1 == row.size() && count_characters(cell) > max_last) {
        cell = {first_characters(cell, max_last - 3), "..."};
      }
      const std::size_t padding = widths[i] - std::min(widths[i], count_characters(cell));
      const bool right = columns[i].align == Align::right;
      if (!cell.empty()) {
        line.append(pending_blanks + (right ? padding : 0), ' ')
            .append(terminal.paint(cell, row[i].tone));
        pending_blanks = (right ? 0 : padding) + gap;
      } else {
        pending_blanks += widths[i] + gap;
      }
    }
    sink(line.append("\n"));
  };

  TableRow titles;
  for (const TableColumn& column : columns) titles.emplace_back(column.title, Tone::heading);
  write_line(titles);
  for (std::size_t index = 0; index < rows; ++index) write_line(row_of(index));
}

}  // namespace gantry::cli
