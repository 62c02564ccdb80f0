// SPDX-License-Identifier: Apache-2.0
//
// One line on stderr that is written over until it goes again; nothing where stderr is no terminal. It is wiped with
// blanks: a terminal may understand no escape codes, or be asked to do without (TERM, NO_COLOR).
#pragma once

#include "tools/gantry/common/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace gantry::cli {

class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  // Wipes the line.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return enabled_; }
  int width() const { return terminal_.width; }
  // text     [in]   printable ASCII
  void show(std::string_view text);

 private:
  Terminal terminal_;
  bool enabled_;
  // columns
  std::size_t shown_ = 0;
};

// What puts a text over `before` columns of another: cut where it would reach the terminal's edge, for behind that it
// could not be wiped.
std::string line_over(std::size_t before, std::string_view text, int width);

}  // namespace gantry::cli
