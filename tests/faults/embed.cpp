// SPDX-License-Identifier: Apache-2.0
//
// A program that embeds the runtime and catches no exception but std::bad_alloc of its own
// allocations: it shows how a fault affects an application.
//
//     faults_embed once  <artifact> <inputs> <plugins>          loads, runs, exits
//     faults_embed every <artifact> <inputs> <plugins> <step>   repeats this in one warm process
//
// With `every`, the 1st, (1 + step)-th, (1 + 2 * step)-th, ... allocation fails, one in each turn.
//
// Exit status:
//
//      0  success
//      1  a typed error, on stderr
//     70  a leak: more blocks, descriptors or threads are alive afterwards than before
//     71  the next turn, without a fault, fails
//     72  an error without code or text
#include "tests/faults/fail_nth.h"

#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>

#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

using namespace gantry;

struct Paths {
  std::string artifact, inputs;
  RuntimeOptions options;
};

Paths paths_of(char** argv) {
  Paths paths{argv[2], argv[3], {}};
  paths.options.plugin_paths = {argv[4]};
  paths.options.only_these_plugins = true;
  paths.options.threads = 2;
  paths.options.log_level = "error";
  return paths;
}

// Loads a file and runs it to its outputs through gantry/embed.hpp, on two threads.
Status turn(Paths paths) {
  GANTRY_TRY(Runtime runtime, Runtime::create(paths.options));
  GANTRY_TRY(const Module model, runtime.load(paths.artifact));
  GANTRY_CHECK(model.functions());
  GANTRY_TRY(Executor executor, Executor::create(runtime, model, {"cpu"}));
  GANTRY_TRY(const auto inputs, runtime.read_tensors(paths.inputs));
  GANTRY_TRY(const Tensor row, inputs.front().second.row(0));
  GANTRY_TRY(const Tensor mine, runtime.tensor({1, 64}, {2, 32, 1}));
  GANTRY_CHECK(runtime.copy(row, mine));
  GANTRY_CHECK(executor.set_input("x", mine));
  GANTRY_CHECK(executor.run());
  GANTRY_TRY(const Tensor output, executor.output(0));
  if (output.elements<float>().size() != 10) return bug("output does not have 10 elements");
  return {};
}

int entries_of(const char* directory) {
  DIR* const open = opendir(directory);
  if (open == nullptr) return -1;
  int count = 0;
  while (readdir(open) != nullptr) ++count;
  closedir(open);
  return count;
}

struct Alive {
  long blocks = fail_nth_live();
  int descriptors = entries_of("/proc/self/fd");
  int threads = entries_of("/proc/self/task");
  bool operator==(const Alive&) const = default;
};

// For the program's own allocations, those of the classes among them. An exception of the library
// is an error of the code bug instead.
int report_exhausted(const char* what) {
  std::fprintf(stderr, "exhausted: out of memory for %s\n", what);
  return 1;
}

int judged_turn(Paths paths) try {
  const Status status = turn(std::move(paths));
  if (status.ok()) return 0;
  const Error& error = status.error();
  std::fprintf(stderr, "%s: %s\n", std::string(name_of(error.code)).c_str(), error.message.c_str());
  return error.message.empty() || error.code == Code::bug || error.code == Code::ok ? 72 : 1;
} catch (const std::bad_alloc&) {
  return report_exhausted("a turn");
}

// Runs one turn in which an allocation fails.
//
// status   [out]  0 or 1, from judged_turn()
// returns  true if as many blocks, descriptors and threads are alive afterwards as before
bool is_free_of_leaks(const Paths& paths, unsigned long nth, int& status) {
  const Alive before;
  {
    Paths mine = paths;
    fail_nth_arm(nth);
    status = judged_turn(std::move(mine));
    fail_nth_disarm();
  }
  const Alive after;
  if (before == after) return true;
  std::fprintf(stderr, "blocks %ld -> %ld, descriptors %d -> %d, threads %d -> %d\n", before.blocks,
               after.blocks, before.descriptors, after.descriptors, before.threads, after.threads);
  return false;
}

// An object that the first error creates and keeps is not a leak: the second attempt finds it.
int disturbed(const Paths& paths, unsigned long nth, bool& fired) {
  int status = 0;
  const bool no_leak = is_free_of_leaks(paths, nth, status);
  fired = fail_nth_fired() != 0;
  if (status > 1) return status;
  if (!no_leak && !is_free_of_leaks(paths, nth, status)) return 70;
  return judged_turn(paths) == 0 ? status : 71;
}

int every(const Paths& paths, unsigned long step) {
  // Create everything that is created once per process.
  for (int i = 0; i < 3; ++i) {
    if (const int status = judged_turn(paths); status != 0) return status;
  }
  unsigned long refused = 0, survived = 0;
  for (unsigned long nth = 1;; nth += step) {
    std::fprintf(stderr, "allocation %lu: ", nth);
    bool fired = false;
    const int status = disturbed(paths, nth, fired);
    if (status > 1) return status;
    if (!fired) break;
    ++(status == 1 ? refused : survived);
    std::fprintf(stderr, "%s", status == 0 ? "survived\n" : "");
  }
  std::printf("refused %lu survived %lu\n", refused, survived);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Paths paths;
  try {
    paths = paths_of(argv);
  } catch (const std::bad_alloc&) {
    return report_exhausted("the arguments");
  }
  if (std::strcmp(argv[1], "once") == 0) return judged_turn(std::move(paths));
  return every(paths, argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 1);
}
