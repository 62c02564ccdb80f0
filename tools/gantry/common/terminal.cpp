// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/terminal.hpp"

#include "core/base/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace gantry::cli {
namespace {

// SGR parameters of each Tone; empty: plain.
constexpr std::string_view colours[] = {"", "1", "2", "32", "33", "31"};

// The locale is not set, because the output of the command is the same with all.
bool locale_is_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = lower(value);
    return locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

}  // namespace

std::string Terminal::paint(const Message& text, Tone tone) const {
  const std::string_view parameters = colours[static_cast<std::size_t>(tone)];
  if (!colour || parameters.empty() || text.empty()) return text;
  return std::string("\x1b[").append(parameters).append("m").append(text.text()).append("\x1b[0m");
}

Terminal terminal_of(int descriptor) {
  if (isatty(descriptor) == 0) return {};
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  winsize size{};
  const bool sized = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return {true, !dumb && (no_color == nullptr || *no_color == '\0'), sized ? size.ws_col : 80,
          !dumb && locale_is_utf8()};
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace gantry::cli
