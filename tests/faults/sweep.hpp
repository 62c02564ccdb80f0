// SPDX-License-Identifier: Apache-2.0
//
// Runs a program with one thing in it going wrong: the N-th allocation, or the N-th system call.
//
//     for (N = 1; ; ++N) {
//       const Ending run = run_with(job, {Fault::allocation, N});
//       if (!run.fired) break;            // the program makes fewer than N
//     }
//
// Allocations fail through libfail_nth.so (fail_nth.h). System calls fail through ptrace, below every library: those
// that the linker makes for dlopen, and that libc makes inside opendir or posix_spawn, fail as well. Counted is what
// happens between the begin and the end of main(), in all threads, not in programs that it starts.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gantry::test {

struct Fault {
  // memory: the nth allocation and all that follow it
  enum Kind { none, allocation, memory, system_call, shrinking_file };
  Kind kind = none;
  // from 1
  unsigned long nth = 0;
  // that is cut to nothing as soon as it is mapped
  std::filesystem::path file = {};
};

struct Job {
  // the program and its arguments
  std::vector<std::string> words;
  // "NAME=value", all of it
  std::vector<std::string> environment;
  // where it runs
  std::filesystem::path directory;
  // where its standard output goes; empty: to Ending::out
  std::filesystem::path out = {};
  // in the child, before it becomes the program
  std::function<void()> prepare = {};
};

// How a program has ended.
struct Ending {
  // exit status; 128 + n after signal n
  int status = -1;
  // the fault has happened
  bool fired = false;
  // of system calls, up to the end
  unsigned long counted = 0;
  // the system call that failed: "openat"
  std::string call;
  // its first argument, where that is a text
  std::string path;
  std::string out, err;
};

// precondition  one run at a time in this process: the tracer waits for any child
Ending run_with(const Job& job, const Fault& fault);

// Whether a sweep can run at all: not under a sanitizer, which brings its own malloc.
bool can_sweep();

// One run for each number from `first` on, `step` apart, until the program makes fewer.
//
// check    [in]   judges one run in which the fault has happened
// returns  how many runs there were in which it has
unsigned long sweep(const Job& job, Fault::Kind kind, unsigned long first, unsigned long step,
                    const std::function<void(unsigned long nth, const Ending& run)>& check);

}  // namespace gantry::test
