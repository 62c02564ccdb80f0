// SPDX-License-Identifier: Apache-2.0
//
// Colour and width of an output, which only terminals have.
#pragma once

#include <gantry/message.hpp>

#include <string>
#include <string_view>

namespace gantry::cli {

enum class Tone { plain, heading, faint, good, warning, bad };

struct Terminal {
  // the output is a terminal
  bool present = false;
  bool colour = false;
  // columns; 0: no limit
  int width = 0;
  // characters outside ASCII are shown
  bool utf8 = false;

  // Returns the text in the colour of `tone`, or unchanged.
  std::string paint(const Message& text, Tone tone) const;
};

// The terminal of a file descriptor. No colour if NO_COLOR is set and not empty, or if TERM is not
// set or "dumb". UTF-8 if the first of LC_ALL, LC_CTYPE and LANG that is set and not empty names it.
//
// source   no-color.org
Terminal terminal_of(int descriptor);

// Writes to stdout. main() reports write errors with flush_output() before it returns.
void print(std::string_view text);

// returns  false if some output could not be written, for example to a full disk
bool flush_output();

}  // namespace gantry::cli
