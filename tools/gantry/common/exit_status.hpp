// SPDX-License-Identifier: Apache-2.0
//
// What the process says when it ends, and how an error is told: one clear error on stderr.
#pragma once

#include <gantry/result.hpp>

namespace gantry::cli {

enum ExitStatus : int {
  kDone = 0,
  // the thing asked for failed
  kFailed = 1,
  // the command line says nothing that can be done
  kWrongUsage = 2,
  // an error of gantry
  kOurError = 3,
};

// "gantry: <message> (offset 0x1f40)", where it has one; its lines of place below it. Line breaks stay, anything else that could
// drive a terminal is escaped: texts of drivers and plugins come through here.
std::string error_text(const Error& error);

// Prints the error to stderr.
//
// returns  kFailed; kOurError for Code::bug
int report(const Error& error);
// The same for a command line that cannot be followed; names the help to read.
int report_usage(std::string_view command, std::string_view message);
// "gantry: warning: <text>" on stderr.
void warn(std::string_view text);

}  // namespace gantry::cli
