// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/forked_work.hpp"

#include "core/base/end_with_parent.hpp"
#include "core/base/signals_blocked.hpp"
#include "core/base/text.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

namespace gantry::cli {
namespace {

constexpr std::size_t max_printed_bytes = 64 << 10;
constexpr std::size_t max_answer_bytes = 4 << 20;

Failure system_error(std::string_view call, int number) {
  return unavailable(call, " fails: ", std::generic_category().message(number))
      .native("errno", number);
}

// Removes the handlers of this process, which would remove the files of the command.
void remove_handlers() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) == 0 &&
        (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
      continue;
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(number, &standard, nullptr);
  }
}

// signals  [in]   that were blocked before the fork
[[noreturn]] void run_child(pid_t parent, std::size_t count, int done, int printed,
                            const sigset_t& signals, const std::function<void(std::size_t)>& work) {
  end_with_parent(parent);
  remove_handlers();
  ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  ::dup2(printed, STDOUT_FILENO);
  ::dup2(printed, STDERR_FILENO);
  for (std::size_t item = 0; item < count; ++item) {
    work(item);
    std::fflush(nullptr);
    // The answer: all that the call printed is read.
    char answer = 0;
    if (::write(done, "", 1) != 1 || ::read(done, &answer, 1) != 1) break;
  }
  // Without destructors: those of plugins must not run in a forked process.
  ::_exit(0);
}

// Returns the last line that is not blank.
std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

class Child {
 public:
  static Result<Child> start(std::size_t count, const std::function<void(std::size_t)>& work) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return system_error("socketpair", errno);
    Descriptor done(ends[0]), childs_done(ends[1]);
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe2", errno);
    Descriptor printed(ends[0]), childs_printed(ends[1]);
    // What is buffered would be printed by both processes.
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    pid_t pid = -1;
    int failed = 0;
    {
      // A signal must not find the handlers in the child.
      const SignalsBlocked blocked;
      pid = ::fork();
      failed = errno;
      if (pid == 0) {
        // Of the parent: with them open, the child would not read that the parent has ended.
        done.close();
        printed.close();
        run_child(parent, count, childs_done.get(), childs_printed.get(), blocked.before(), work);
      }
    }
    if (pid < 0) return system_error("fork", failed);
    Child child(pid, std::move(done), std::move(printed));
    // watch() would block in one while the child waits for the other.
    for (const Descriptor* end : {&child.done_, &child.output_}) {
      if (::fcntl(end->get(), F_SETFL, O_NONBLOCK) != 0) return system_error("fcntl", errno);
    }
    return child;
  }
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        done_(std::move(other.done_)),
        output_(std::move(other.output_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      // Without an answer, a child between two calls ends.
      done_.close();
      wait();
    }
  }

  const std::string& printed() const { return printed_; }

  // Waits until `count` calls are done.
  Result<std::optional<ForkedFailure>> watch(std::size_t count, std::chrono::milliseconds limit,
                                             std::string_view subject) {
    using std::chrono::steady_clock;
    std::size_t done = 0;
    auto end = steady_clock::now() + limit;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
      if (left.count() <= 0) {
        return ForkedFailure{
            done, Message(subject, " did not return within ",
                          static_cast<double>(limit.count()) / 1000, " s", last_words())};
      }
      // poll() ignores a negative number.
      pollfd both[] = {{done_.get(), POLLIN, 0}, {output_ended_ ? -1 : output_.get(), POLLIN, 0}};
      if (::poll(both, 2, static_cast<int>(left.count())) < 0 && errno != EINTR)
        return system_error("poll", errno);
      char call = 0;
      const ssize_t size = ::read(done_.get(), &call, 1);
      // A driver that prints and is not read blocks.
      read_output();
      if (size < 0) continue;
      if (size == 0) {
        // No effect on a process that ends; one that has closed its descriptors may run for ever.
        ::kill(pid_, SIGKILL);
        return ForkedFailure{done, Message(subject, end_of(wait()), last_words())};
      }
      if (++done == count) return std::optional<ForkedFailure>();
      printed_.clear();
      // A child that has ended in the meantime is seen by the next read().
      (void)::send(done_.get(), &call, 1, MSG_NOSIGNAL);
      end = steady_clock::now() + limit;
    }
  }

 private:
  Child(pid_t pid, Descriptor done, Descriptor output)
      : pid_(pid), done_(std::move(done)), output_(std::move(output)) {}

  void read_output() {
    char buffer[4096];
    ssize_t size = 0;
    while ((size = ::read(output_.get(), buffer, sizeof buffer)) > 0) {
      printed_.append(buffer, static_cast<std::size_t>(size));
      if (printed_.size() > max_printed_bytes)
        printed_.erase(0, printed_.size() - max_printed_bytes);
    }
    output_ended_ = size == 0;
  }
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }
  static std::string end_of(int status) {
    if (WIFSIGNALED(status)) {
      return concat(" ended the process by signal ", WTERMSIG(status), " (",
                    ::strsignal(WTERMSIG(status)), ")");
    }
    return concat(" ended the process with status ", WEXITSTATUS(status));
  }
  std::string last_words() {
    read_output();
    const std::string line = last_line(printed_);
    return line.empty() ? ", without output" : concat("; its last output is ", quoted(line));
  }

  pid_t pid_;
  Descriptor done_, output_;
  bool output_ended_ = false;
  // since the last call was done
  std::string printed_;
};

std::string read_answer(int file) {
  std::string answer;
  char buffer[4096];
  ssize_t size = 0;
  while (answer.size() < max_answer_bytes &&
         (size = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(answer.size()))) > 0)
    answer.append(buffer, static_cast<std::size_t>(size));
  return answer;
}

}  // namespace

Result<std::optional<ForkedFailure>> run_forked(std::size_t count, std::chrono::milliseconds limit,
                                                const std::function<void(std::size_t)>& work,
                                                std::string_view subject) {
  if (count == 0) return std::optional<ForkedFailure>();
  GANTRY_TRY(Child child, Child::start(count, work));
  return child.watch(count, limit, subject);
}

Result<ForkedAnswer> call_forked(std::chrono::milliseconds limit,
                                 const std::function<std::string()>& work,
                                 std::string_view subject) {
  // Memory that both processes have, of any size.
  const Descriptor memory(::memfd_create("answer", MFD_CLOEXEC));
  if (memory.get() < 0) return system_error("memfd_create", errno);
  const auto answer = [&](std::size_t) {
    const std::string text = work();
    // If there is no memory for it, the answer is shorter.
    static_cast<void>(write_all(memory.get(), as_bytes(text)));
  };
  GANTRY_TRY(Child child, Child::start(1, answer));
  ForkedAnswer returned;
  GANTRY_TRY(returned.failure, child.watch(1, limit, subject));
  if (!returned.failure) returned.answer = read_answer(memory.get());
  returned.printed = child.printed();
  return returned;
}

}  // namespace gantry::cli
