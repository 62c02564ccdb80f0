// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/exit_status.hpp"

#include "tools/gantry/common/escape.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

namespace gantry::cli {

void print_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string error_text(const Error& error) {
  std::string text = "gantry: ";
  if (error.code == Code::bug) text += "internal error: ";
  // The lines after the first are context; the offset belongs to the first.
  std::string message = error.message;
  if (error.offset != no_offset) {
    message.insert(std::min(message.find('\n'), message.size()),
                   concat(" (offset ", Hex{error.offset}, ")"));
  }
  return text + escaped_lines(message) + "\n";
}

int report(const Error& error) {
  try {
    print_error(error_text(error));
  } catch (const std::bad_alloc&) {
    std::fputs("gantry: out of memory\n", stderr);
  }
  return error.code == Code::bug ? kOurError : kFailed;
}

int report_usage(std::string_view command, std::string_view message) {
  print_error(concat("gantry: ", escaped_lines(message), "\n  see: ", command, " --help\n"));
  return kWrongUsage;
}

void warn(std::string_view text) {
  print_error(concat("gantry: warning: ", escaped_lines(text), "\n"));
}

}  // namespace gantry::cli
