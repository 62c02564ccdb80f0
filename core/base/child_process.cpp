// SPDX-License-Identifier: Apache-2.0
#include "core/base/child_process.hpp"

#include "core/base/signal_cleanup.hpp"
#include "core/base/signals_blocked.hpp"
#include "core/base/start_program.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

namespace gantry {
namespace {

// Ends a program and the programs that it has started. A compiler removes its temporary files
// unless it takes longer than a second.
void end_group(pid_t process) {
  ::kill(-process, SIGTERM);
  for (int i = 0; i < 100 && ::waitpid(process, nullptr, WNOHANG) == 0; ++i) ::usleep(10'000);
  ::kill(-process, SIGKILL);
}

// A running program. The destructor kills it unless wait() has returned its status, so that it
// cannot write into a directory that the caller then removes.
class Child {
 public:
  explicit Child(pid_t process) : process_(process), cleanup_([process] { end_group(process); }) {}
  ~Child() {
    if (process_ <= 0) return;
    ::kill(-process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // As waitpid().
  pid_t wait(int& status) {
    const pid_t ended = ::waitpid(process_, &status, 0);
    if (ended == process_) process_ = 0;
    return ended;
  }

 private:
  pid_t process_;
  CleanUpOnSignal cleanup_;
};

Failure start_error(const std::string& program, int number) {
  return unavailable("program ", quoted(program), " cannot be started: ", std::strerror(number))
      .native("errno", number);
}

void read_all(int from, std::size_t max, ProgramEnd& end) {
  char chunk[4096];
  for (;;) {
    const ssize_t got = ::read(from, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    const auto bytes = static_cast<std::size_t>(got);
    const std::size_t kept = std::min(bytes, max - end.output.size());
    end.output.append(chunk, kept);
    end.dropped_bytes += bytes - kept;
  }
}

}  // namespace

Result<ProgramEnd> run_program(const std::vector<std::string>& words,
                               const std::filesystem::path& directory, std::size_t max_output,
                               const ProgramSearch& search,
                               const std::filesystem::path& temporary) {
  if (words.empty() || words.front().empty()) return invalid("program name is empty");
  GANTRY_TRY(const std::filesystem::path program, find_program(words.front(), search));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return start_error(words.front(), errno);
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  ProgramStart start;
  start.program = program;
  start.words = words;
  // Compilers find their parts by this name and by PATH, in another working directory.
  start.words.front() = program.native();
  std::vector<std::string> variables{concat("PATH=", absolute_search_path(search))};
  if (!temporary.empty()) variables.push_back(concat("TMPDIR=", temporary.native()));
  start.environment = environment_with(variables);
  start.directory = directory;
  start.output = writing.get();
  std::optional<SignalsBlocked> blocked(std::in_place);
  start.signals = blocked->before();
  GANTRY_TRY(const pid_t process, start_program(start));
  Child child(process);
  blocked.reset();
  writing.close();

  ProgramEnd end;
  read_all(reading.get(), max_output, end);
  int status = 0;
  while (child.wait(status) < 0) {
    if (errno != EINTR) {
      return unavailable("program ", quoted(words.front()),
                         ": exit status is unknown: ", std::strerror(errno))
          .native("errno", errno);
    }
  }
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_status = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace gantry
