// SPDX-License-Identifier: Apache-2.0
//
// Runs a process under limits and captures its output and its report.
//
//     watch_process([&](const Pipes& pipes) { return spawn_or_fork(pipes); }, limits)
//       -> ProcessEnd {how it ended, seconds, last output, report}
#pragma once

#include <gantry/result.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

namespace gantry::kit {

struct ProcessLimits {
  double seconds = 30;
  // resident memory of the process
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
};

// Descriptors that the process inherits.
struct Pipes {
  // for its standard output and error
  int output;
  // for its report
  int report;
};

struct ProcessEnd {
  enum class Cause { exited, signalled, timed_out, out_of_memory };
  Cause cause = Cause::exited;
  // exited: status; signalled: number of the signal
  int number = 0;
  double seconds = 0;
  // the last bytes of the output, at most 4 KiB
  std::string output;
  std::string report;

  bool ended_with(int status) const { return cause == Cause::exited && number == status; }
};

// "is ended by signal 11 (Segmentation fault) after 0.2 s"
std::string describe(const ProcessEnd& end);

// Starts a process and waits for its end. Kills its process group at a limit and afterwards, so
// that it leaves no process behind.
//
// start    [in]   returns the process, the leader of its group
// returns  unavailable  a pipe or the process cannot be created
Result<ProcessEnd> watch_process(const std::function<Result<pid_t>(const Pipes& pipes)>& start,
                                 const ProcessLimits& limits);

// Runs `body` in a forked child, which then ends with _exit(0). Precondition: this process has one
// thread.
//
// body     [in]   its result is the report
Result<ProcessEnd> in_child(const std::function<std::string()>& body,
                            const ProcessLimits& limits = {});

// Adds a line of the last output to an error, if there is any.
Failure with_output(Failure failure, const ProcessEnd& end);

}  // namespace gantry::kit
