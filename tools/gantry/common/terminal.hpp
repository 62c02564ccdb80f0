// SPDX-License-Identifier: Apache-2.0
//
// What an output can show: colour and width, only where it is a terminal.
#pragma once

#include <string>
#include <string_view>

namespace gantry::cli {

enum class Tone { plain, heading, faint, good, warning, bad };

struct Terminal {
  // is it a terminal at all?
  bool present = false;
  bool colour = false;
  // columns; 0: no limit
  int width = 0;

  // The text in its colour, or as it is.
  std::string paint(std::string_view text, Tone tone) const;
};

// The terminal behind a file descriptor. No colour where NO_COLOR is set to anything but nothing,
// or TERM is "dumb".
//
// source   no-color.org
Terminal terminal_of(int descriptor);

// Writes to stdout, as main's last word checks it: a full disk is an error, not a short document.
void print(std::string_view text);

// returns  false where something that was printed did not arrive
bool flush_output();

}  // namespace gantry::cli
