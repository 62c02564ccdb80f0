// SPDX-License-Identifier: Apache-2.0
//
// Runs a program in which the N-th allocation or the N-th system call fails.
//
//     for (N = 1; ; ++N) {
//       const Ending run = run_with(job, {Fault::allocation, N});
//       if (!run.fired) break;            // the program makes fewer than N
//     }
//
// Allocations fail through libfail_nth.so (fail_nth.h). System calls fail through ptrace, so calls
// of the dynamic linker in dlopen and of libc in opendir or posix_spawn are included. Only main()
// is counted, in all threads, without the programs that it starts.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gantry::test {

struct Fault {
  // memory: the nth allocation and all later ones
  enum Kind { none, allocation, memory, system_call, shrinking_file };
  Kind kind = none;
  // counts from 1
  unsigned long nth = 0;
  // for shrinking_file: truncated to 0 bytes as soon as it is mapped
  std::filesystem::path file = {};
};

struct Job {
  // the program and its arguments
  std::vector<std::string> words;
  // "NAME=value"; the complete environment
  std::vector<std::string> environment;
  // working directory
  std::filesystem::path directory;
  // file for its standard output; empty: Ending::out
  std::filesystem::path out = {};
  // called in the child before exec
  std::function<void()> prepare = {};
};

// The result of a run.
struct Ending {
  // exit status; 128 + n after signal n
  int status = -1;
  // the fault occurred
  bool fired = false;
  // number of system calls, or allocations, in the run
  unsigned long counted = 0;
  // the system call that failed: "openat"
  std::string call;
  // the path that it was passed, if any
  std::string path;
  std::string out, err;
};

// True if the dynamic linker ended the process, which it does with status 127 if there is no memory
// for the thread-local data of a library that was loaded later: libstdc++, when a plugin throws for
// the first time in a program that contains a copy of its own; or for its table of symbols that are
// unique in the process (STB_GNU_UNIQUE), of which libstdc++ has some.
bool ended_by_linker(const Ending& run);

// precondition  one run at a time in this process: the tracer waits for any child
Ending run_with(const Job& job, const Fault& fault);

// True if a sweep can run: not under a sanitizer, which has its own malloc.
bool can_sweep();

// Runs `job` with fault `first`, `first + step`, ... until the program makes fewer calls.
//
// check    [in]   called for each run in which the fault occurred
// returns  number of runs in which the fault occurred
unsigned long sweep(const Job& job, Fault::Kind kind, unsigned long first, unsigned long step,
                    const std::function<void(unsigned long nth, const Ending& run)>& check);

}  // namespace gantry::test
