// SPDX-License-Identifier: Apache-2.0
#include "core/probe/run_probe.hpp"

#include "core/base/process_end.hpp"
#include "core/base/signal_cleanup.hpp"
#include "core/base/signals_blocked.hpp"
#include "core/base/start_program.hpp"
#include "core/base/text.hpp"
#include "core/probe/probe_record.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;

// of the output that is kept
constexpr std::size_t kRingBytes = 64 << 10;
// How often a child that has closed its descriptors, or whose children hold them, is looked at.
constexpr int kPollMs = 20;
// From the start of the program to the plugin, on a host under load.
constexpr std::chrono::seconds kMaxStart(20);

Failure start_failure(const std::string& helper, int number) {
  return unavailable("program ", quoted(helper), " cannot be started: ", std::strerror(number))
      .native("errno", number);
}

struct Pipe {
  Descriptor reading{-1}, writing{-1};
};

Result<Pipe> new_pipe(const std::string& helper) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return start_failure(helper, errno);
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  // Only the reading end does not block.
  if (::fcntl(ends[1], F_SETFL, 0) != 0) return start_failure(helper, errno);
  return pipe;
}

Result<pid_t> start_probe(const ProbeCommand& command, int output, int records) {
  ProgramStart start;
  start.program = command.helper;
  start.words = probe_arguments(command);
  start.words.insert(start.words.begin(), command.helper);
  start.environment = command.environment;
  start.output = output;
  static_assert(kProbeDescriptor == 3);
  start.report = records;
  sigemptyset(&start.signals);
  start.has_default_signals = true;
  return start_program(start);
}

// The process group of a running probe. The destructor kills it.
class ProbeGroup {
 public:
  // killed   [out]  gets the leader if it has not ended `limit` after it was killed; borrowed
  ProbeGroup(pid_t leader, std::chrono::milliseconds limit, KilledChildren& killed)
      : leader_(leader), limit_(limit), killed_(killed) {
    cleanup_.emplace([leader] { ::kill(-leader, SIGKILL); });
  }
  ~ProbeGroup() {
    if (leader_ > 0) end();
  }
  ProbeGroup(const ProbeGroup&) = delete;
  ProbeGroup& operator=(const ProbeGroup&) = delete;

  // True if the leader has ended, or if another part of this process has waited for it.
  bool has_ended() const {
    siginfo_t info{};
    const int failed =
        ::waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOHANG | WNOWAIT);
    return failed == 0 ? info.si_pid == leader_ : errno == ECHILD;
  }
  // Kills what is left of the group and waits for the leader, last, so that its number identifies
  // the group until then. SIGKILL does not end a process that waits in the kernel for a driver.
  //
  // returns  false if the leader has not ended in time
  bool end() {
    ::kill(-leader_, SIGKILL);
    cleanup_.reset();
    const pid_t leader = std::exchange(leader_, 0);
    const Clock::time_point last = Clock::now() + limit_;
    for (useconds_t pause_us = 50;; pause_us = std::min<useconds_t>(2 * pause_us, 20'000)) {
      int found = 0;
      const pid_t ended = ::waitpid(leader, &found, WNOHANG);
      if (ended == leader) status_ = found;
      if (ended != 0) return true;
      if (Clock::now() >= last) break;
      ::usleep(pause_us);
    }
    killed_.add(leader);
    return false;
  }
  // Returns the leader's status; nullopt if it has not ended, or if another part of this process has
  // waited for it.
  std::optional<int> status() const { return status_; }

 private:
  pid_t leader_;
  const std::chrono::milliseconds limit_;
  KilledChildren& killed_;
  std::optional<int> status_;
  std::optional<CleanUpOnSignal> cleanup_;
};

// What arrives from a child.
class Observed {
 public:
  Observed(Descriptor output, Descriptor marks)
      : output_(std::move(output)), marks_(std::move(marks)) {}

  // Waits for bytes, at most `limit_ms`, and reads what is there.
  void read(int limit_ms) {
    pollfd both[] = {{output_.get(), POLLIN, 0}, {marks_.get(), POLLIN, 0}};
    // poll() ignores negative descriptors. An interrupted call is repeated by the caller.
    (void)::poll(both, 2, limit_ms);
    drain(marks_, [&](std::string_view bytes) { records.add(bytes); });
    drain(output_, [&](std::string_view bytes) {
      output_bytes += bytes.size();
      printed += bytes;
      if (printed.size() > 2 * kRingBytes) printed.erase(0, printed.size() - kRingBytes);
    });
  }
  bool at_end() const { return !output_ && !marks_; }

  ProbeRecords records;
  std::string printed;
  std::uint64_t output_bytes = 0;

 private:
  // Reads a bounded number of bytes, so that a plugin that prints without end reaches the checks.
  template <class Take>
  static void drain(Descriptor& from, Take take) {
    char chunk[16 << 10];
    for (int i = 0; i < 16 && from; ++i) {
      const ssize_t got = ::read(from.get(), chunk, sizeof chunk);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return from.close();
      take(std::string_view(chunk, static_cast<std::size_t>(got)));
    }
  }

  Descriptor output_, marks_;
};

std::uint32_t milliseconds_since(Clock::time_point start) {
  return static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - start).count());
}

// Waits until the child has ended or one of its limits is exceeded. The time limit is one for the
// plugin: it begins when its library is opened.
ProbeOutcome observe(const ProbeGroup& group, Observed& observed, std::chrono::milliseconds limit) {
  Clock::time_point end = Clock::now() + kMaxStart;
  for (bool has_begun = false;;) {
    if (!has_begun && observed.records.stage != ProbeStage::start) {
      has_begun = true;
      end = Clock::now() + limit;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return ProbeOutcome::timed_out;
    observed.read(static_cast<int>(std::min<std::int64_t>(left, kPollMs)));
    if (observed.output_bytes > kMaxProbeOutput) return ProbeOutcome::flooded;
    // Between the end of its descriptors and its end as a process only the kernel works.
    if (observed.at_end()) {
      for (int i = 0; i < 100 && !group.has_ended(); ++i) ::usleep(100);
      if (!group.has_ended()) ::usleep(1000);
    }
    if (!group.has_ended()) continue;
    observed.read(0);
    return ProbeOutcome::exited;
  }
}

// Judges a child that has ended by itself.
void judge(const std::optional<int>& status, const ProbeRecords& records, ProbeEnd& end) {
  if (status && WIFSIGNALED(*status)) {
    end.signal = WTERMSIG(*status);
    end.outcome = end.signal == SIGABRT ? ProbeOutcome::aborted : ProbeOutcome::crashed;
    if (records.fault_signal == end.signal) end.address = records.fault_address;
    return;
  }
  const bool is_orderly = !status || WEXITSTATUS(*status) == 0;
  if (is_orderly && records.passed) {
    end.outcome = ProbeOutcome::passed;
  } else if (is_orderly && records.refused) {
    end.outcome = ProbeOutcome::refused;
    end.code = records.code;
    end.reason = records.reason;
    end.text = records.text;
  } else {
    end.outcome = ProbeOutcome::exited;
    end.exit_status = status ? WEXITSTATUS(*status) : -1;
  }
}

}  // namespace

std::vector<std::string> probe_arguments(const ProbeCommand& command) {
  std::vector<std::string> all{command.manifest, command.config_file, concat(command.memory_bytes),
                               concat(command.tier), command.location};
  all.insert(all.end(), command.drop_ins.begin(), command.drop_ins.end());
  return all;
}

Result<ProbeCommand> read_probe_arguments(const std::vector<std::string>& arguments) {
  const auto bytes =
      arguments.size() < 5 ? std::nullopt : parse_number<std::uint64_t>(arguments[2]);
  const auto tier = bytes ? parse_number<int>(arguments[3]) : std::nullopt;
  if (!tier) return invalid("expected MANIFEST CONFIG BYTES TIER LOCATION DROP-IN...");
  ProbeCommand command;
  command.manifest = arguments[0];
  command.config_file = arguments[1];
  command.memory_bytes = *bytes;
  command.tier = *tier;
  command.location = arguments[4];
  command.drop_ins.assign(arguments.begin() + 5, arguments.end());
  return command;
}

Result<ProbeEnd> run_probe(const ProbeCommand& command, KilledChildren& killed) {
  killed.reap();
  // As while a plugin is opened in this process.
  const NoCancellation guard;
  GANTRY_TRY(Pipe output, new_pipe(command.helper));
  GANTRY_TRY(Pipe records, new_pipe(command.helper));
  const Clock::time_point start = Clock::now();
  std::optional<SignalsBlocked> blocked(std::in_place);
  GANTRY_TRY(const pid_t child, start_probe(command, output.writing.get(), records.writing.get()));
  ProbeGroup group(child, std::chrono::milliseconds(command.kill_ms), killed);
  blocked.reset();
  output.writing.close();
  records.writing.close();

  Observed observed(std::move(output.reading), std::move(records.reading));
  ProbeEnd end;
  end.limit_ms = command.limit_ms;
  end.outcome = observe(group, observed, std::chrono::milliseconds(command.limit_ms));
  end.elapsed_ms = milliseconds_since(start);
  end.is_left = !group.end();
  end.stage = observed.records.stage;
  end.last_lines = last_lines_of(observed.printed);
  if (end.outcome == ProbeOutcome::exited) judge(group.status(), observed.records, end);
  // Nothing of the plugin has run.
  if (end.stage == ProbeStage::start && end.outcome != ProbeOutcome::refused) {
    return unavailable("program ", quoted(command.helper), " does not reach the plugin: ",
                       end.outcome == ProbeOutcome::timed_out ? "it was stopped"
                       : end.signal != 0 ? concat("it ended by signal ", end.signal)
                                         : concat("it ended with status ", end.exit_status),
                       end.last_lines.empty() ? "" : ", ", end.last_lines);
  }
  if (observed.records.options.value_or(command.options) != command.options) {
    return unavailable("the options of the plugin in this process are not those that program ",
                       quoted(command.helper), " reads: the configuration was changed after this ",
                       "process read it; start this process again");
  }
  return end;
}

}  // namespace gantry
