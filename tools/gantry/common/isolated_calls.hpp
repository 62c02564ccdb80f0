// SPDX-License-Identifier: Apache-2.0
//
// Calls of drivers or of CPU code in a child process, so that what ends its process, or never
// returns, does not end the command. The program of the child is a hidden command of this one
// (tools/gantry/isolated_command.hpp).
//
//     run_isolated() ──execve──▶ prepares
//           ◀── report ─────────┐
//           ─── answer ────────▶┘ first call
//           ◀── report ─────────┐
//           ─── answer ────────▶┘ second call ...
//
// The answer means that all that a call has printed is read. A report is a u32 size in native byte
// order and as many bytes; one without bytes has no answer of the call.
#pragma once

#include "core/base/process.hpp"

#include <gantry/result.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gantry::cli {

struct IsolatedFailure {
  std::size_t item = 0;
  // "the driver ended the process by signal 6 (Aborted); its last output is ..."
  Message text;
};

// Runs a program that makes `count` calls, until one ends the process or does not return. What it
// prints is read and not shown: the caller repeats the calls.
//
// limit    [in]   time for each call
// subject  [in]   what the calls are to, for the text
// returns  the call that failed, if any; unavailable if the program cannot be started or ends before
//          the first call
// costs    a process
Result<std::optional<IsolatedFailure>> run_isolated(const ProgramStart& program, std::size_t count,
                                                    std::chrono::milliseconds limit,
                                                    std::string_view subject = "the driver");

struct IsolatedAnswer {
  // The call ended its process or did not return; then there is no answer.
  std::optional<IsolatedFailure> failure;
  std::string answer;
  // The end of what the call printed to standard output and standard error, up to 64 KiB.
  std::string printed;
};

// Runs a program that makes one call, as run_isolated() does, for a caller that does not repeat it.
//
// returns  as run_isolated()
Result<IsolatedAnswer> call_isolated(const ProgramStart& program, std::chrono::milliseconds limit,
                                     std::string_view subject = "the driver");

// The side of the program that makes the calls.
class CallReports {
 public:
  // Takes report_descriptor, so that processes that the calls start do not have it.
  //
  // returns  invalid: this process has none
  static Result<CallReports> take();

  // Reports that the program is prepared, or that a call is done, and waits until what was printed
  // is read. Ends the process if the command has ended.
  void report(std::string_view answer = {});

 private:
  explicit CallReports(Descriptor to) : to_(std::move(to)) {}
  Descriptor to_;
};

}  // namespace gantry::cli
