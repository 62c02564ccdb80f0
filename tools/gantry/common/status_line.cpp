// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/status_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gantry::cli {
namespace {

std::string_view cut(std::string_view text, int width) {
  return text.substr(0, static_cast<std::size_t>(std::max(width - 1, 0)));
}

}  // namespace

StatusLine::StatusLine(bool quiet)
    : terminal_(terminal_of(STDERR_FILENO)), enabled_(terminal_.present && !quiet) {}

StatusLine::~StatusLine() {
  if (shown_ != 0) std::fprintf(stderr, "%s\r", line_over(shown_, "", terminal_.width).c_str());
}

void StatusLine::show(std::string_view text) {
  if (!enabled_) return;
  std::fputs(line_over(shown_, text, terminal_.width).c_str(), stderr);
  shown_ = cut(text, terminal_.width).size();
}

std::string line_over(std::size_t before, std::string_view text, int width) {
  std::string line = "\r";
  line += cut(text, width);
  const std::size_t columns = line.size() - 1;
  if (before > columns) line.append(before - columns, ' ');
  return line;
}

}  // namespace gantry::cli
