// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/sweep.hpp"

#include "tests/faults/fail_nth.h"
#include "tests/faults/system_calls.hpp"
#include "tests/support/files.hpp"

#include <gantry/result.hpp>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace gantry::test {
namespace {

// A program that blocks is ended with SIGALRM.
constexpr unsigned kMaxLengthSeconds = 300;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string text_in(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

void redirect(const std::filesystem::path& file, int to) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || dup2(opened, to) < 0) _exit(126);
  close(opened);
}

int status_of(int ended) { return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended); }

#if defined(__x86_64__)

// Traces one program: resumes its threads at each stop and makes one system call fail.
class Tracer {
 public:
  Tracer(pid_t program, const Fault& fault, Ending& run)
      : program_(program), fault_(fault), run_(run) {}

  void follow() {
    for (;;) {
      int stopped = 0;
      const pid_t thread = waitpid(-1, &stopped, __WALL);
      if (thread < 0) {
        if (errno == EINTR) continue;
        std::perror("waitpid");
        std::abort();
      }
      if (WIFEXITED(stopped) || WIFSIGNALED(stopped)) {
        if (thread != program_) continue;
        run_.status = status_of(stopped);
        return;
      }
      int signal = WSTOPSIG(stopped);
      if (signal == (SIGTRAP | 0x80)) {
        at_system_call(thread);
        signal = 0;
      } else if (stopped >> 16 != 0 || signal == SIGSTOP) {
        // a new thread, or execve
        signal = 0;
      }
      ptrace(is_over() ? PTRACE_CONT : PTRACE_SYSCALL, thread, nullptr, signal);
    }
  }

 private:
  // The fault has occurred and its call has returned: later calls need no stop.
  bool is_over() const { return run_.fired && spoiled_.empty(); }

  void at_system_call(pid_t thread) {
    user_regs_struct registers{};
    // The thread has been killed.
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;
    if (inside_[thread]) {
      inside_[thread] = false;
      if (const auto spoiled = spoiled_.find(thread); spoiled != spoiled_.end()) {
        registers.rax = static_cast<unsigned long long>(-static_cast<long long>(spoiled->second));
        ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
        spoiled_.erase(spoiled);
      }
      if (mapping_ && registers.orig_rax == SYS_mmap) shrink();
      return;
    }
    inside_[thread] = true;
    const auto number = static_cast<long>(registers.orig_rax);
    if (number == kPrctl && registers.rdi == FAIL_NTH_MARK) {
      counting_ = registers.rsi != 0;
      return;
    }
    if (fault_.kind == Fault::shrinking_file) {
      if (number == SYS_openat && text_at(thread, registers.rsi) == fault_.file)
        mapping_ = !run_.fired;
      return;
    }
    const SystemCall* const call = counting_ ? find_system_call(number) : nullptr;
    if (call == nullptr || ++run_.counted != fault_.nth) return;
    run_.fired = true;
    run_.call = call->name;
    if (call->path_argument == 1) run_.path = text_at(thread, registers.rdi);
    if (call->path_argument == 2) run_.path = text_at(thread, registers.rsi);
    // The kernel skips call number -1.
    registers.orig_rax = ~0ull;
    ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
    spoiled_[thread] = call->error;
  }

  void shrink() {
    if (truncate(fault_.file.c_str(), 0) != 0) std::abort();
    mapping_ = false;
    run_.fired = true;
  }

  static std::string text_at(pid_t thread, unsigned long long address) {
    std::string text;
    for (; text.size() < 256; address += sizeof(long)) {
      errno = 0;
      const long word = ptrace(PTRACE_PEEKDATA, thread, address, nullptr);
      if (errno != 0) return text;
      char bytes[sizeof word];
      std::memcpy(bytes, &word, sizeof word);
      const std::size_t size = strnlen(bytes, sizeof bytes);
      text.append(bytes, size);
      if (size < sizeof bytes) break;
    }
    return text;
  }

  pid_t program_;
  Fault fault_;
  Ending& run_;
  bool counting_ = false;
  // the next mmap maps the file that shrinks
  bool mapping_ = false;
  std::map<pid_t, bool> inside_;
  std::map<pid_t, int> spoiled_;
};

void follow(pid_t program, const Fault& fault, Ending& run) {
  int stopped = 0;
  if (waitpid(program, &stopped, 0) != program || !WIFSTOPPED(stopped)) std::abort();
  constexpr long options =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, program, nullptr, options) != 0) std::abort();
  ptrace(PTRACE_SYSCALL, program, nullptr, 0);
  Tracer(program, fault, run).follow();
}

#else  // other architectures have other register names

void follow(pid_t, const Fault&, Ending&) { std::abort(); }

#endif

}  // namespace

bool can_sweep() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
  return false;
#else
  return true;
#endif
}

Ending run_with(const Job& job, const Fault& fault) {
  const TempDir temp;
  std::vector<std::string> environment = job.environment;
  environment.push_back("LD_PRELOAD=" GANTRY_FAIL_NTH_LIBRARY);
  const bool allocations = fault.kind == Fault::allocation || fault.kind == Fault::memory;
  if (allocations) {
    environment.push_back(concat("GANTRY_FAIL_ALLOCATION=", fault.nth));
    if (fault.kind == Fault::memory) environment.push_back("GANTRY_FAIL_ONWARD=1");
    environment.push_back("GANTRY_FAIL_REPORT=" + (temp / "report").string());
  }
  const auto words = pointers_to(job.words);
  const auto variables = pointers_to(environment);
  const bool traced = fault.kind == Fault::system_call || fault.kind == Fault::shrinking_file;

  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    redirect("/dev/null", 0);
    redirect(job.out.empty() ? temp / "out" : job.out, 1);
    redirect(temp / "err", 2);
    if (chdir(job.directory.c_str()) != 0) _exit(126);
    if (job.prepare) job.prepare();
    alarm(kMaxLengthSeconds);
    if (traced) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
    }
    execve(words[0], words.data(), variables.data());
    _exit(127);
  }
  Ending run;
  if (traced) {
    follow(child, fault, run);
  } else {
    int ended = 0;
    if (waitpid(child, &ended, 0) != child) std::abort();
    run.status = status_of(ended);
  }
  if (job.out.empty()) run.out = text_in(temp / "out");
  run.err = text_in(temp / "err");
  if (allocations) {
    long live = 0;
    // A program that was killed writes no report.
    int fired = 1;
    if (std::filesystem::exists(temp / "report")) {
      const std::string report = text_in(temp / "report");
      if (std::sscanf(report.c_str(), "allocations %lu live %ld fired %d", &run.counted, &live,
                      &fired) != 3) {
        std::abort();
      }
    }
    run.fired = fired != 0;
  }
  return run;
}

bool ended_by_linker(const Ending& run) {
  return run.status == 127 &&
         (run.err.find("cannot allocate memory for thread-local data") != std::string::npos ||
          run.err == "out of memory\n");
}

unsigned long sweep(const Job& job, Fault::Kind kind, unsigned long first, unsigned long step,
                    const std::function<void(unsigned long nth, const Ending& run)>& check) {
  unsigned long runs = 0;
  for (unsigned long nth = first;; nth += step) {
    const Ending run = run_with(job, {kind, nth, {}});
    if (run.status >= 125 && run.status < 128 && !ended_by_linker(run)) {
      std::fprintf(stderr, "%s cannot be started with fault %lu: status %d, %s\n",
                   job.words[0].c_str(), nth, run.status, run.err.c_str());
      std::abort();
    }
    if (!run.fired) return runs;
    ++runs;
    check(nth, run);
  }
}

}  // namespace gantry::test
