// SPDX-License-Identifier: Apache-2.0
#include "core/base/start_program.hpp"

#include "core/base/end_with_parent.hpp"
#include "core/base/signals_blocked.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace gantry {
namespace {

constexpr int first_free_descriptor = 4;

// In memory that the child shares with its parent until it is the program.
struct ChildStart {
  const char* program;
  char* const* words;
  char* const* environment;
  const char* directory;
  int output, report;
  const sigset_t* signals;
  bool has_default_signals;
  pid_t parent;
  // errno of the child; 0: it has become the program
  volatile int failed;
};

// Restores the default actions, so that no handler of the parent runs in its memory.
void remove_handlers(bool also_ignored) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    const bool is_ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    if (is_ignored && !also_ignored) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
}

// Becomes the program. Only async-signal-safe calls, as after fork().
[[noreturn, gnu::noinline]] void become(ChildStart& start) noexcept {
  end_with_parent(start.parent);
  const auto prepare = [&] {
    if (::setpgid(0, 0) != 0) return false;
    const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || ::dup2(input, 0) < 0) return false;
    // dup2() of a descriptor to itself would leave it close-on-exec.
    if (input == 0 && ::fcntl(0, F_SETFD, 0) != 0) return false;
    if (::dup2(start.output, 1) < 0 || ::dup2(start.output, 2) < 0) return false;
    if (start.report >= 0 && ::dup2(start.report, 3) < 0) return false;
    return start.directory == nullptr || ::chdir(start.directory) == 0;
  };
  if (prepare()) {
    remove_handlers(start.has_default_signals);
    ::pthread_sigmask(SIG_SETMASK, start.signals, nullptr);
    ::execve(start.program, start.words, start.environment);
  }
  start.failed = errno;
  ::_exit(127);
}

// A function of its own, because the frame of vfork() is used by both processes.
[[gnu::noinline]] pid_t start_child(ChildStart& start) {
  const pid_t child = ::vfork();
  if (child == 0) become(start);
  return child;
}

std::vector<char*> pointers_of(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Above those that the child replaces.
Descriptor high_copy(int descriptor) {
  return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, first_free_descriptor));
}

}  // namespace

std::vector<std::string> environment_with(std::span<const std::string> changed) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool is_changed =
        !name.empty() &&
        std::ranges::any_of(changed, [&](std::string_view each) { return each.starts_with(name); });
    if (!is_changed) environment.emplace_back(text);
  }
  environment.insert(environment.end(), changed.begin(), changed.end());
  return environment;
}

Result<pid_t> start_program(const ProgramStart& start) {
  const auto failure = [&](int number) {
    return unavailable("program ", quoted(start.program.native()),
                       " cannot be started: ", std::strerror(number))
        .native("errno", number);
  };
  const Descriptor output = high_copy(start.output);
  const Descriptor report = start.report >= 0 ? high_copy(start.report) : Descriptor(-1);
  if (!output || (start.report >= 0 && !report)) return failure(errno);
  const std::vector<char*> words = pointers_of(start.words);
  const std::vector<char*> environment = pointers_of(start.environment);
  ChildStart child{start.program.c_str(),
                   words.data(),
                   environment.data(),
                   start.directory.empty() ? nullptr : start.directory.c_str(),
                   output.get(),
                   report.get(),
                   &start.signals,
                   start.has_default_signals,
                   ::getpid(),
                   0};
  pid_t process = -1;
  {
    const SignalsBlocked blocked;
    process = start_child(child);
    if (process < 0) return failure(errno);
  }
  const int number = child.failed;
  if (number == 0) return process;
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return failure(number);
}

}  // namespace gantry
