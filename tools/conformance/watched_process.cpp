// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/watched_process.hpp"

#include "core/base/end_with_parent.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace gantry::kit {
namespace {

constexpr std::size_t kMaxOutput = 4096;
constexpr std::size_t kMaxReport = 64 * 1024;
constexpr int kPollMs = 20;

using Clock = std::chrono::steady_clock;

struct Pipe {
  Descriptor read{-1}, write{-1};
};

// Read ends are not inherited.
Result<Pipe> new_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return unavailable("cannot create a pipe: ", std::strerror(errno)).native("errno", errno);
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Kills the group of a process and reaps the process.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) {}
  ~Group() {
    // Processes that the leader has started are in the group as well.
    ::kill(-leader_, SIGKILL);
    if (!reaped_) ::waitpid(leader_, nullptr, 0);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  bool has_ended(int& status) {
    if (!reaped_) reaped_ = ::waitpid(leader_, &status, WNOHANG) == leader_;
    return reaped_;
  }

 private:
  pid_t leader_;
  bool reaped_ = false;
};

// Reads what is there. Returns false at the end of the stream.
bool drain(int from, std::string& into, std::size_t max, bool keep_end) {
  char chunk[4096];
  const ssize_t got = ::read(from, chunk, sizeof chunk);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  into.append(chunk, static_cast<std::size_t>(got));
  if (into.size() > max) keep_end ? into.erase(0, into.size() - max) : into.erase(max);
  return true;
}

std::uint64_t resident_bytes(pid_t process) {
  std::ifstream in(concat("/proc/", process, "/statm"));
  std::uint64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Stream {
  Descriptor from;
  std::string* into;
  std::size_t max;
  bool keep_end;
};

// Reads both streams for at most `ms`.
void read_for(std::array<Stream, 2>& streams, int ms) {
  pollfd waiting[2];
  for (std::size_t i = 0; i < 2; ++i)
    waiting[i] = {streams[i].from ? streams[i].from.get() : -1, POLLIN, 0};
  if (::poll(waiting, 2, ms) <= 0) return;
  for (std::size_t i = 0; i < 2; ++i) {
    Stream& stream = streams[i];
    if (waiting[i].revents == 0) continue;
    if (!drain(stream.from.get(), *stream.into, stream.max, stream.keep_end)) stream.from.close();
  }
}

}  // namespace

std::string describe(const ProcessEnd& end) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", end.seconds);
  switch (end.cause) {
    case ProcessEnd::Cause::exited:
      return concat("exits with status ", end.number, " after ", seconds);
    case ProcessEnd::Cause::signalled:
      return concat("is ended by signal ", end.number, " (", ::strsignal(end.number), ") after ",
                    seconds);
    case ProcessEnd::Cause::timed_out:
      return concat("has not ended after ", seconds, " and is killed");
    case ProcessEnd::Cause::out_of_memory:
      return concat("exceeds the memory limit after ", seconds, " and is killed");
  }
  return {};
}

Result<ProcessEnd> watch_process(const std::function<Result<pid_t>(const Pipes& pipes)>& start,
                                 const ProcessLimits& limits) {
  GANTRY_TRY(Pipe output, new_pipe());
  GANTRY_TRY(Pipe report, new_pipe());
  const auto begun = Clock::now();
  GANTRY_TRY(const pid_t process, start(Pipes{output.write.get(), report.write.get()}));
  Group group(process);
  output.write.close();
  report.write.close();

  ProcessEnd end;
  std::array<Stream, 2> streams{Stream{std::move(output.read), &end.output, kMaxOutput, true},
                                Stream{std::move(report.read), &end.report, kMaxReport, false}};
  int status = 0;
  int ms = kPollMs;
  for (;;) {
    const bool open = streams[0].from || streams[1].from;
    if (open) {
      read_for(streams, ms);
    } else {
      ::usleep(500);
    }
    end.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    if (group.has_ended(status)) {
      // What it has written is in the pipes; a process that it has left behind may hold them open.
      for (int i = 0; i < 64 && (streams[0].from || streams[1].from); ++i) read_for(streams, 0);
      end.cause = WIFEXITED(status) ? ProcessEnd::Cause::exited : ProcessEnd::Cause::signalled;
      end.number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
      return end;
    }
    if (end.seconds > limits.seconds) end.cause = ProcessEnd::Cause::timed_out;
    if (resident_bytes(process) > limits.memory_bytes) end.cause = ProcessEnd::Cause::out_of_memory;
    if (end.cause != ProcessEnd::Cause::exited) return end;
  }
}

Result<ProcessEnd> in_child(const std::function<std::string()>& body, const ProcessLimits& limits) {
  std::fflush(nullptr);
  return watch_process(
      [&](const Pipes& pipes) -> Result<pid_t> {
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child < 0) {
          return unavailable("cannot fork: ", std::strerror(errno)).native("errno", errno);
        }
        if (child > 0) {
          // Also here, because the child may not have run yet when its group is killed.
          ::setpgid(child, child);
          return child;
        }
        ::setpgid(0, 0);
        end_with_parent(parent);
        ::dup2(pipes.output, 1);
        ::dup2(pipes.output, 2);
        const int report = ::fcntl(pipes.report, F_DUPFD_CLOEXEC, 3);
        const std::string text = body();
        const ssize_t written = ::write(report, text.data(), text.size());
        ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 125);
      },
      limits);
}

Failure with_output(Failure failure, const ProcessEnd& end) {
  if (end.output.empty()) return failure;
  return std::move(failure).at("last output: ", end.output);
}

}  // namespace gantry::kit
