// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/exit_status.hpp"

#include "core/base/text.hpp"

#include <cstdio>
#include <new>

namespace gantry::cli {

void print_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string error_text(const Error& error) {
  std::string text =
      text_line("gantry: ", error.code == Code::bug ? "internal error: " : "", error.message);
  // The lines after the first are context; the offset belongs to the first.
  if (error.offset != no_offset)
    text.insert(text.find('\n'), concat(" (offset ", Hex{error.offset}, ")"));
  return text;
}

int report(const Error& error) {
  try {
    print_error(error_text(error));
  } catch (const std::bad_alloc&) {
    std::fputs("gantry: out of memory\n", stderr);
  }
  if (error.reason == "DEADLINE") return kTimedOut;
  return error.code == Code::bug ? kOurError : kFailed;
}

int report_usage(std::string_view command, const Message& message) {
  print_error(text_line("gantry: ", message) + text_line("  see: ", command, " --help"));
  return kWrongUsage;
}

void warn(const Message& text) { print_error(text_line("gantry: warning: ", text)); }

}  // namespace gantry::cli
