// SPDX-License-Identifier: Apache-2.0
//
// Runs a program in a process of its own: compilers, and code of others that may crash, hang or
// exit. This process is never forked to run a function of its own, because the child would have its
// locks and drivers without its threads.
//
//     ProgramStart ──vfork, execve──▶ process group     stdout, stderr ──▶ output
//                                                       descriptor 3  ◀──▶ reports and answers
//     ProgramLimits ──▶ time, memory, output ──▶ ProgramEnd
//
// Code of gantry that must be isolated is a hidden command: own_program() executes it.
#pragma once

#include "core/base/find_program.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Of a program that reports.
constexpr int report_descriptor = 3;

struct ProgramStart {
  std::filesystem::path program;
  // argv, with its name
  std::vector<std::string> words;
  // "PATH=/bin"
  std::vector<std::string> environment;
  // working directory; empty: that of this process
  std::filesystem::path directory = {};
  // It has report_descriptor, a socket on which it writes reports and reads answers.
  bool reports = false;
  // No signal is blocked or ignored. Otherwise those are that the calling thread blocks and this
  // process ignores.
  bool has_default_signals = false;
  // It may leave processes behind, as a compiler does that starts the server of its cache, and gets
  // a second to remove its files when a signal ends this process. Otherwise its group is killed.
  bool is_tool = false;
};

struct ProgramLimits {
  static constexpr std::chrono::milliseconds no_time_limit = std::chrono::hours(24 * 365);
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  // until it has ended, or until the handler of its reports returns another limit
  std::chrono::milliseconds time = no_time_limit;
  // of its resident memory
  std::uint64_t memory_bytes = no_limit;
  // of what it prints
  std::uint64_t output_bytes = no_limit;
  // of the output that is kept: its end, or its beginning
  std::size_t kept_bytes = 64 << 10;
  bool keeps_beginning = false;
  // It is killed when it closes report_descriptor.
  bool must_report = false;
  // for its end after it is killed, or has closed its descriptors
  std::chrono::milliseconds kill_time = no_time_limit;
  // A signal to each thread of the program, whose handler reports where the thread is: after each
  // `place_interval`, and before the program is killed because its time is over, which then waits
  // for reports, place_time at most. 0: none
  int place_signal = 0;
  std::chrono::milliseconds place_interval = no_time_limit;
  static constexpr std::chrono::milliseconds place_time{300};
};

// What follows a report.
struct ReportStep {
  // a new limit of time, which begins now; nullopt: the earlier one continues
  std::optional<std::chrono::milliseconds> time;
  // The output so far is removed.
  bool removes_output = false;
  // what the program reads from report_descriptor; valid until the next report
  std::string_view answer = {};
  // The program is killed, which is its success.
  bool is_done = false;
};

// Called with bytes as they arrive, after all that the program has printed before was read.
using OnReport = std::function<ReportStep(std::string_view bytes)>;

struct ProgramEnd {
  enum class Cause : std::uint8_t { exited, signalled, timed_out, out_of_memory, flooded, done };
  Cause cause = Cause::exited;
  // of `exited`; -1: unknown, because another part of this process has waited for it
  int exit_status = 0;
  // of `signalled`; otherwise 0
  int signal = 0;
  // until it had ended or exceeded a limit
  std::chrono::steady_clock::duration elapsed{};
  // stdout and stderr in order of arrival
  std::string output;
  // size of the output that is not kept
  std::uint64_t dropped_bytes = 0;
  // It was killed and has not ended: it waits in the kernel, often for a driver.
  bool is_left = false;

  bool exited_with(int status) const { return cause == Cause::exited && exit_status == status; }
};

// Child processes that were killed and have not ended: a process that waits in the kernel, for a
// driver, ends when the kernel returns from that call.
class KilledChildren {
 public:
  KilledChildren() = default;
  ~KilledChildren() { reap(); }
  KilledChildren(const KilledChildren&) = delete;
  KilledChildren& operator=(const KilledChildren&) = delete;

  // Adds a child of this process that it has not waited for. On a kernel without pidfd_open()
  // (before 5.4) nothing is added, and the child remains a zombie until this process ends.
  //
  // thread   any
  // costs    a descriptor until it is reaped
  void add(pid_t child);
  // Waits for those that have ended, without blocking, and removes them.
  //
  // returns  how many are left
  // thread   any
  std::size_t reap();

 private:
  std::mutex mutex_;
  // Descriptors, because the number of a process is used again if another part of this process has
  // waited for it.
  std::vector<Descriptor> children_;
};

// Runs a program until it has ended, a limit is exceeded or the handler of its reports ends it. Its
// standard input is /dev/null; it inherits no descriptor that has close-on-exec. It is killed when
// the thread that started it ends, unless it is set-user-id or has file capabilities, see
// end_with_parent(); no handler of fork() runs.
//
// killed   [out]  gets the program if it does not end when it is killed, and waits for those that
//                 have ended. NULL: it remains a zombie
// returns  unavailable with errno if it cannot be started. A program that starts and fails is a
//          success
// thread   any; the calling thread blocks signals while it starts the program
Result<ProgramEnd> run_program(const ProgramStart& start, const ProgramLimits& limits,
                               const OnReport& on_report = {}, KilledChildren* killed = nullptr);

// Runs a tool with the environment of this process, without a limit of time.
//
// words       [in]   program and arguments, without a shell
// directory   [in]   working directory of the program
// max_output  [in]   bytes of output to keep, from its beginning; the rest is read and dropped, so
//                    that the program never blocks on a full pipe
// search      [in]   finds the program, before the working directory is changed. Its path replaces
//                    PATH in the environment of the program, without relative directories
// temporary   [in]   replaces TMPDIR in the environment of the program; empty: it is inherited
// returns     as the function above; unavailable if the exit status is unknown; the failures of
//             find_program()
Result<ProgramEnd> run_program(const std::vector<std::string>& words,
                               const std::filesystem::path& directory, std::size_t max_output,
                               const ProgramSearch& search = {},
                               const std::filesystem::path& temporary = {});

// Returns the environment of this process with other values of some variables, "PATH=/bin".
std::vector<std::string> environment_with(std::span<const std::string> changed);

// Returns the file of the program that this process executes, also if it was replaced or removed.
// Without /proc it is the path that the kernel was given, which the caller of an elevated process
// chooses: it then has none.
//
// returns  unavailable
Result<std::filesystem::path> own_program();

// Kills this process when the thread that has started it ends, also if that has happened already. A
// program that is set-user-id or has file capabilities calls it itself.
//
// parent   [in]   process id of the process that starts it, read before
// thread   async-signal-safe
inline void end_with_parent(pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::kill(::getpid(), SIGKILL);
}

}  // namespace gantry
