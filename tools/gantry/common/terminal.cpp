// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace gantry::cli {
namespace {

// SGR parameters; empty: plain.
std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::heading:
      return "1";
    case Tone::faint:
      return "2";
    case Tone::good:
      return "32";
    case Tone::warning:
      return "33";
    case Tone::bad:
      return "31";
    case Tone::plain:
      break;
  }
  return {};
}

}  // namespace

std::string Terminal::paint(std::string_view text, Tone tone) const {
  const std::string_view parameters = colour_of(tone);
  if (!colour || parameters.empty() || text.empty()) return std::string(text);
  return std::string("\x1b[").append(parameters).append("m").append(text).append("\x1b[0m");
}

Terminal terminal_of(int descriptor) {
  if (isatty(descriptor) == 0) return {};
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  winsize size{};
  const bool sized = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return {true, !dumb && (no_color == nullptr || *no_color == '\0'), sized ? size.ws_col : 80};
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace gantry::cli
