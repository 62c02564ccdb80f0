// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/exit_status.hpp"

#include "core/base/reason.hpp"
#include "core/base/text.hpp"

#include <gantry/raised_error.hpp>

#include <algorithm>
#include <cstdio>
#include <new>

namespace gantry::cli {

void print_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string error_text(const Error& error, bool details) {
  std::string text = text_line("gantry: ", error.code == Code::bug ? "internal error: " : "",
                               shown_text(error, details));
  // The lines after the first are context; the offset belongs to the first.
  if (error.offset != no_offset)
    text.insert(text.find('\n'), concat(" (offset ", Hex{error.offset}, ")"));
  const auto what = raised(error);
  // Errors of gantry have these kinds, where compiled code passes them on.
  const bool has_kind =
      what && !what->kind.empty() && what->kind != "RuntimeError" && what->kind != "InternalError";
  if (has_kind) text += text_line("  raised as ", what->kind);
  if (details && what && !what->backtrace.empty()) {
    text += "  backtrace, most recent call first\n";
    for (std::string_view rest = what->backtrace; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      text += text_line("  ", line);
    }
  }
  return text;
}

int report(const Error& error, bool details) {
  try {
    print_error(error_text(error, details));
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

Message shown_text(const Error& error, bool details) {
  if (details || error.reason != reason::driver_missing.tag) return error.message;
  // Details are indented by four blanks, context by two.
  std::string_view rest = error.message.text();
  std::string kept(rest.substr(0, rest.find('\n')));
  rest.remove_prefix(kept.size());
  bool is_shorter = false;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n', 1), rest.size()));
    rest.remove_prefix(line.size());
    if (!line.starts_with("\n    ")) {
      kept += line;
    } else if (!is_shorter) {
      // of the line above
      kept += "; -v lists them";
      is_shorter = true;
    }
  }
  return Message::lines(kept);
}

std::vector<Message> shown_texts(const std::vector<Error>& errors, bool details) {
  std::vector<Message> texts;
  for (const Error& error : errors) texts.push_back(shown_text(error, details));
  return texts;
}

void warn(const Message& text) { print_error(text_line("gantry: warning: ", text)); }

}  // namespace gantry::cli
