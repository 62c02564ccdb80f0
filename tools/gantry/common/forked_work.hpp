// SPDX-License-Identifier: Apache-2.0
//
// Runs code that calls drivers or host code in a child process, so that what ends its process, or
// never returns, does not end the command.
#pragma once

#include <gantry/result.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gantry::cli {

struct ForkedFailure {
  std::size_t item = 0;
  // "the driver ended the process by signal 6 (Aborted); its last output is ..."
  Message text;
};

// Calls `work` for 0 to count - 1 in one child process, until a call ends the process or does not
// return. What the child prints is read and not shown: the caller repeats the work. The child has no
// signal handlers of this process.
//
// limit    [in]   time for each call
// work     [in]   does not throw
// subject  [in]   what `work` calls, for the text
// returns  the call that failed, if any; unavailable if no child process can be created
// costs    a fork
Result<std::optional<ForkedFailure>> run_forked(std::size_t count, std::chrono::milliseconds limit,
                                                const std::function<void(std::size_t)>& work,
                                                std::string_view subject = "the driver");

struct ForkedAnswer {
  // The call ended its process or did not return; then there is no answer.
  std::optional<ForkedFailure> failure;
  std::string answer;
  // The end of what the call printed to standard output and standard error, up to 64 KiB.
  std::string printed;
};

// Calls `work` once in a child process, as run_forked() does, for a caller that does not repeat it.
//
// returns  unavailable if no child process can be created
Result<ForkedAnswer> call_forked(std::chrono::milliseconds limit,
                                 const std::function<std::string()>& work,
                                 std::string_view subject = "the driver");

}  // namespace gantry::cli
