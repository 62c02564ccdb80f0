// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/status_line.hpp"

#include <gantry/utf8.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gantry::cli {
namespace {

std::string_view cut(std::string_view text, int width) {
  return first_characters(text, static_cast<std::size_t>(std::max(width - 1, 0)));
}

}  // namespace

StatusLine::StatusLine(bool quiet)
    : terminal_(terminal_of(STDERR_FILENO)), enabled_(terminal_.present && !quiet) {}

void StatusLine::show(const Message& text) {
  if (!enabled_) return;
  std::fputs(line_over(shown_, text, terminal_.width).c_str(), stderr);
  shown_ = count_characters(cut(text, terminal_.width));
}

void StatusLine::erase() {
  if (shown_ != 0) std::fprintf(stderr, "%s\r", line_over(shown_, "", terminal_.width).c_str());
  shown_ = 0;
}

std::string line_over(std::size_t before, std::string_view text, int width) {
  std::string line = "\r";
  line += cut(text, width);
  const std::size_t columns = count_characters(line) - 1;
  if (before > columns) line.append(before - columns, ' ');
  return line;
}

}  // namespace gantry::cli
