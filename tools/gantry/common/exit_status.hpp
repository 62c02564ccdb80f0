// SPDX-License-Identifier: Apache-2.0
//
// The exit status of the process, and the format of errors and warnings on stderr.
#pragma once

#include <gantry/result.hpp>

#include <vector>

namespace gantry::cli {

enum ExitStatus : int {
  kDone = 0,
  // the command failed
  kFailed = 1,
  // the command line is invalid
  kWrongUsage = 2,
  // an internal error of gantry
  kOurError = 3,
  // the time of --timeout has passed
  kTimedOut = 4,
};

// "gantry: <message> (offset 0x1f40)", the offset if there is one, then lines of context. The last of
// these is the kind of an error that code has raised, "raised as ValueError"; `details` add its backtrace.
std::string error_text(const Error& error, bool details = true);

// Prints to stderr.
void print_error(std::string_view text);
// Prints the error to stderr.
//
// details  [in]   see shown_text()
// returns  kFailed; kOurError for Code::bug; kTimedOut for the reason DEADLINE
int report(const Error& error, bool details = true);
// Prints an error of the command line and the command that shows the help.
//
// returns  kWrongUsage
int report_usage(std::string_view command, const Message& message);
// Returns the text of an error. That of a missing driver (reason DRIVER_MISSING) has the names that
// were tried, each with the linker's message, only with `details`.
Message shown_text(const Error& error, bool details);
std::vector<Message> shown_texts(const std::vector<Error>& errors, bool details);

// Prints "gantry: warning: <text>" to stderr.
void warn(const Message& text);

}  // namespace gantry::cli
