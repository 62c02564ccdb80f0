// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.hpp"

#include "core/base/signal_cleanup.hpp"
#include "core/base/signals_blocked.hpp"

#include <gantry/directory.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// P_PIDFD and pidfd_open() are declared from glibc 2.36 on.
constexpr auto by_descriptor = static_cast<idtype_t>(3);
// Above those that the child replaces.
constexpr int first_free_descriptor = report_descriptor + 1;
// How often a program that has closed its descriptors, or whose children hold them, is looked at.
constexpr milliseconds poll_time(20);

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
    if (start.report >= 0 && ::dup2(start.report, report_descriptor) < 0) return false;
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

// Starts the program with these descriptors.
//
// report   [in]   negative: none
// signals  [in]   that it blocks
// returns  an errno as a negative number
pid_t start_program(const ProgramStart& start, int output, int report, const sigset_t& signals) {
  const auto high_copy = [](int descriptor) {
    return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, first_free_descriptor));
  };
  const Descriptor high_output = high_copy(output);
  const Descriptor high_report = report >= 0 ? high_copy(report) : Descriptor(-1);
  if (!high_output || (report >= 0 && !high_report)) return -errno;
  const std::vector<char*> words = pointers_of(start.words);
  const std::vector<char*> environment = pointers_of(start.environment);
  ChildStart child{start.program.c_str(),
                   words.data(),
                   environment.data(),
                   start.directory.empty() ? nullptr : start.directory.c_str(),
                   high_output.get(),
                   high_report.get(),
                   &signals,
                   start.has_default_signals,
                   ::getpid(),
                   0};
  const pid_t process = start_child(child);
  if (process < 0) return -errno;
  const int number = child.failed;
  if (number == 0) return process;
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return -number;
}

// Ends a tool and the programs that it has started.
void terminate_group(pid_t leader) {
  ::kill(-leader, SIGTERM);
  for (int i = 0; i < 100 && ::waitpid(leader, nullptr, WNOHANG) == 0; ++i) ::usleep(10'000);
  ::kill(-leader, SIGKILL);
}

// A running program and its process group, which the destructor kills unless the program has ended.
class ProgramGroup {
 public:
  // Precondition: the calling thread blocks all signals.
  ProgramGroup(pid_t leader, bool is_tool, milliseconds kill_time, KilledChildren* killed)
      : leader_(leader), kill_time_(kill_time), killed_(killed) {
    cleanup_.emplace([leader, is_tool] {
      if (is_tool) return terminate_group(leader);
      ::kill(-leader, SIGKILL);
    });
  }
  ~ProgramGroup() {
    if (leader_ > 0) end(true);
  }
  ProgramGroup(const ProgramGroup&) = delete;
  ProgramGroup& operator=(const ProgramGroup&) = delete;

  // True if the leader has ended, or if another part of this process has waited for it.
  bool has_ended() const {
    siginfo_t info{};
    const int failed =
        ::waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOHANG | WNOWAIT);
    return failed == 0 ? info.si_pid == leader_ : errno == ECHILD;
  }
  std::uint64_t resident_bytes() const {
    std::ifstream in(concat("/proc/", leader_, "/statm"));
    std::uint64_t total = 0, resident = 0;
    in >> total >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  // Sends a signal to each thread of the leader.
  void signal_threads(int number) const {
    std::error_code failed;
    for (const std::string& thread : names_in(concat("/proc/", leader_, "/task"), failed))
      ::syscall(SYS_tgkill, leader_, std::atoi(thread.c_str()), number);
  }
  // Waits for the leader, last, so that its number identifies the group until then. SIGKILL does
  // not end a process that waits in the kernel for a driver.
  //
  // kills    [in]   kills what is left of the group
  // returns  false if the leader has not ended in time
  bool end(bool kills) {
    if (kills) ::kill(-leader_, SIGKILL);
    cleanup_.reset();
    const pid_t leader = std::exchange(leader_, 0);
    const Clock::time_point last = Clock::now() + kill_time_;
    for (useconds_t pause_us = 50;; pause_us = std::min<useconds_t>(2 * pause_us, 20'000)) {
      int found = 0;
      const pid_t ended = ::waitpid(leader, &found, WNOHANG);
      if (ended == leader) status_ = found;
      if (ended != 0) return true;
      if (Clock::now() >= last) break;
      ::usleep(pause_us);
    }
    if (killed_ != nullptr) killed_->add(leader);
    return false;
  }
  // Returns the leader's status; nullopt if it has not ended, or if another part of this process has
  // waited for it.
  std::optional<int> status() const { return status_; }

 private:
  pid_t leader_;
  const milliseconds kill_time_;
  KilledChildren* const killed_;
  std::optional<int> status_;
  std::optional<CleanUpOnSignal> cleanup_;
};

// What a program prints, its end or its beginning.
class Output {
 public:
  Output(std::size_t kept_bytes, bool keeps_beginning)
      : kept_bytes_(kept_bytes), keeps_beginning_(keeps_beginning) {}

  void add(std::string_view bytes) {
    total_ += bytes.size();
    if (keeps_beginning_) bytes = bytes.substr(0, kept_bytes_ - text_.size());
    text_ += bytes;
    if (text_.size() > 2 * kept_bytes_) keep_end();
  }
  void remove() {
    removed_ = total_;
    text_.clear();
  }
  std::uint64_t total_bytes() const { return total_; }
  void move_to(ProgramEnd& end) {
    keep_end();
    end.dropped_bytes = total_ - removed_ - text_.size();
    end.output = std::move(text_);
  }

 private:
  void keep_end() {
    if (text_.size() > kept_bytes_) text_.erase(0, text_.size() - kept_bytes_);
  }
  std::size_t kept_bytes_;
  bool keeps_beginning_;
  std::string text_;
  std::uint64_t total_ = 0, removed_ = 0;
};

// Reads a bounded number of bytes, so that a program that prints without end reaches the checks.
template <class Take>
void drain(Descriptor& from, Take take) {
  char chunk[16 << 10];
  for (int i = 0; i < 16 && from; ++i) {
    const ssize_t got = ::read(from.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return from.close();
    take(std::string_view(chunk, static_cast<std::size_t>(got)));
  }
}

// The watch over a running program.
class Watch {
 public:
  // begun    [in]   when the program was started
  Watch(const ProgramLimits& limits, const OnReport& on_report, Clock::time_point begun,
        Descriptor output, Descriptor reports)
      : limits_(limits),
        on_report_(on_report),
        end_(begun + limits.time),
        signal_at_(begun + limits.place_interval),
        output_(limits.kept_bytes, limits.keeps_beginning),
        from_output_(std::move(output)),
        from_reports_(std::move(reports)),
        has_reports_(from_reports_) {}

  // Waits until the program has ended, a limit is exceeded or the handler ends it.
  ProgramEnd::Cause until_end(const ProgramGroup& group) {
    for (;;) {
      const Clock::time_point now = Clock::now();
      const auto left = std::chrono::ceil<milliseconds>(end_ - now);
      if (left.count() <= 0) {
        over_ = now;
        if (limits_.place_signal != 0) read_places(group);
        return is_done_ ? ProgramEnd::Cause::done : ProgramEnd::Cause::timed_out;
      }
      if (limits_.place_signal != 0 && now >= signal_at_) {
        group.signal_threads(limits_.place_signal);
        signal_at_ = now + limits_.place_interval;
      }
      read(std::min(left, poll_time));
      if (is_done_) return ProgramEnd::Cause::done;
      if (output_.total_bytes() > limits_.output_bytes) return ProgramEnd::Cause::flooded;
      if (has_reports_ && limits_.must_report && !from_reports_) return ProgramEnd::Cause::exited;
      // Between the end of its descriptors and its end as a process only the kernel works.
      if (!from_output_ && !from_reports_) {
        for (int i = 0; i < 100 && !group.has_ended(); ++i) ::usleep(100);
      }
      if (group.has_ended()) return ProgramEnd::Cause::exited;
      if (limits_.memory_bytes != ProgramLimits::no_limit &&
          group.resident_bytes() > limits_.memory_bytes)
        return ProgramEnd::Cause::out_of_memory;
    }
  }
  // When its time was over, if it was; else the present.
  Clock::time_point end_time() const { return over_.value_or(Clock::now()); }
  // Reads what the program has left.
  void read_rest() { read(milliseconds(0)); }
  void move_output_to(ProgramEnd& end) { output_.move_to(end); }

 private:
  void read(milliseconds max_wait) {
    // poll() ignores negative descriptors. An interrupted call is repeated by the caller.
    pollfd both[] = {{from_output_.get(), POLLIN, 0}, {from_reports_.get(), POLLIN, 0}};
    (void)::poll(both, 2, static_cast<int>(max_wait.count()));
    std::string reports;
    drain(from_reports_, [&](std::string_view bytes) { reports += bytes; });
    drain(from_output_, [&](std::string_view bytes) { output_.add(bytes); });
    if (!reports.empty() && on_report_) follow(on_report_(reports));
  }
  // Each thread reports for itself.
  void read_places(const ProgramGroup& group) {
    group.signal_threads(limits_.place_signal);
    const Clock::time_point last = Clock::now() + ProgramLimits::place_time;
    while (Clock::now() < last && !group.has_ended()) read(poll_time);
  }
  void follow(const ReportStep& step) {
    if (step.removes_output) output_.remove();
    if (step.time) end_ = Clock::now() + *step.time;
    is_done_ = is_done_ || step.is_done;
    // A program that has ended in the meantime is seen by the next read().
    if (!step.answer.empty() && from_reports_)
      (void)::send(from_reports_.get(), step.answer.data(), step.answer.size(), MSG_NOSIGNAL);
  }

  const ProgramLimits& limits_;
  const OnReport& on_report_;
  Clock::time_point end_, signal_at_;
  std::optional<Clock::time_point> over_;
  Output output_;
  Descriptor from_output_, from_reports_;
  const bool has_reports_;
  bool is_done_ = false;
};

// True also if another part of this process has waited for it.
bool has_child_ended(const Descriptor& child) {
  siginfo_t info{};
  const int failed =
      ::waitid(by_descriptor, static_cast<id_t>(child.get()), &info, WEXITED | WNOHANG);
  return failed == 0 ? info.si_pid != 0 : errno == ECHILD;
}

}  // namespace

void KilledChildren::add(pid_t child) {
  Descriptor descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!descriptor) return;
  const std::lock_guard lock(mutex_);
  children_.push_back(std::move(descriptor));
}

std::size_t KilledChildren::reap() {
  const std::lock_guard lock(mutex_);
  std::erase_if(children_, has_child_ended);
  return children_.size();
}

Result<ProgramEnd> run_program(const ProgramStart& start, const ProgramLimits& limits,
                               const OnReport& on_report, KilledChildren* killed) {
  const auto failure = [&](int number) {
    return unavailable("program ", quoted(start.program.native()),
                       " cannot be started: ", std::strerror(number))
        .native("errno", number);
  };
  if (killed != nullptr) killed->reap();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure(errno);
  Descriptor output(ends[0]), programs_output(ends[1]);
  Descriptor reports(-1), programs_reports(-1);
  if (start.reports) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failure(errno);
    reports = Descriptor(ends[0]);
    programs_reports = Descriptor(ends[1]);
  }
  // Only the ends of this process do not block.
  for (const Descriptor* end : {&output, &reports}) {
    if (*end && ::fcntl(end->get(), F_SETFL, O_NONBLOCK) != 0) return failure(errno);
  }
  const Clock::time_point begun = Clock::now();
  std::optional<SignalsBlocked> blocked(std::in_place);
  sigset_t signals = blocked->before();
  if (start.has_default_signals) sigemptyset(&signals);
  const pid_t process =
      start_program(start, programs_output.get(), programs_reports.get(), signals);
  if (process < 0) return failure(-process);
  ProgramGroup group(process, start.is_tool, limits.kill_time, killed);
  blocked.reset();
  programs_output.close();
  programs_reports.close();

  ProgramEnd end;
  Watch watch(limits, on_report, begun, std::move(output), std::move(reports));
  end.cause = watch.until_end(group);
  end.elapsed = watch.end_time() - begun;
  end.is_left = !group.end(!start.is_tool || end.cause != ProgramEnd::Cause::exited);
  if (end.cause == ProgramEnd::Cause::exited) watch.read_rest();
  watch.move_output_to(end);
  if (end.cause != ProgramEnd::Cause::exited) return end;
  const std::optional<int> status = group.status();
  if (status && WIFSIGNALED(*status)) {
    end.cause = ProgramEnd::Cause::signalled;
    end.signal = WTERMSIG(*status);
  } else {
    end.exit_status = status ? WEXITSTATUS(*status) : -1;
  }
  return end;
}

Result<ProgramEnd> run_program(const std::vector<std::string>& words,
                               const std::filesystem::path& directory, std::size_t max_output,
                               const ProgramSearch& search,
                               const std::filesystem::path& temporary) {
  if (words.empty() || words.front().empty()) return invalid("program name is empty");
  ProgramStart start;
  GANTRY_TRY(start.program, find_program(words.front(), search));
  start.words = words;
  // Compilers find their parts by this name and by PATH, in another working directory.
  start.words.front() = start.program.native();
  std::vector<std::string> variables{concat("PATH=", absolute_search_path(search))};
  if (!temporary.empty()) variables.push_back(concat("TMPDIR=", temporary.native()));
  start.environment = environment_with(variables);
  start.directory = directory;
  start.is_tool = true;
  ProgramLimits limits;
  limits.kept_bytes = max_output;
  limits.keeps_beginning = true;
  GANTRY_TRY(ProgramEnd end, run_program(start, limits));
  if (end.exit_status < 0) {
    return unavailable("program ", quoted(words.front()),
                       ": exit status is unknown: ", std::strerror(ECHILD))
        .native("errno", ECHILD);
  }
  return end;
}

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

Result<std::filesystem::path> own_program() {
  constexpr const char* self = "/proc/self/exe";
  if (::access(self, X_OK) == 0) return std::filesystem::path(self);
  const auto* const executed = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (::getauxval(AT_SECURE) != 0 || executed == nullptr)
    return unavailable("the file of this program is unknown: /proc is not mounted");
  return std::filesystem::path(executed);
}

}  // namespace gantry
