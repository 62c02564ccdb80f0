// SPDX-License-Identifier: Apache-2.0
//
// One line on stderr that is overwritten with each status and erased at the end; disabled if stderr
// is not a terminal. It is erased with blanks, because a terminal may not support escape codes, or
// TERM or NO_COLOR may disable them.
#pragma once

#include "tools/gantry/common/terminal.hpp"

#include <gantry/message.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace gantry::cli {

class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine() { erase(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return enabled_; }
  int width() const { return terminal_.width; }
  void show(const Message& text);
  void erase();

 private:
  Terminal terminal_;
  bool enabled_;
  // columns of the current text
  std::size_t shown_ = 0;
};

// Returns the output that overwrites `before` columns with `text`. The text is truncated before the
// terminal's edge, because a line that wraps cannot be erased.
std::string line_over(std::size_t before, std::string_view text, int width);

}  // namespace gantry::cli
