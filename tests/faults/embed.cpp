// SPDX-License-Identifier: Apache-2.0
//
// A program that embeds the runtime and catches nothing: what an application sees of a fault.
//
//     faults_embed once  <artifact> <inputs> <plugins>         loads, runs, ends
//     faults_embed every <artifact> <inputs> <plugins> <step>  the same again and again in this process, warm, while
//                                                              the 1st, (1 + step)-th, ... allocation fails
//
//     0  done               1  a typed error, told on stderr     70  more is alive afterwards than before
//     71 the next, undisturbed turn fails                        72  an error without code or text
#include "tests/faults/fail_nth.h"

#include <gantry/runtime.hpp>

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
  paths.options.plugin_dirs = {argv[4]};
  paths.options.only_these_plugins = true;
  paths.options.threads = 2;
  paths.options.log_level = "error";
  return paths;
}

// Everything that runtime.hpp offers on the way from a file to its outputs, on two threads.
Status turn(Paths paths) {
  GANTRY_TRY(Runtime runtime, Runtime::create(std::move(paths.options)));
  GANTRY_TRY(const Module model, runtime.load(paths.artifact));
  GANTRY_CHECK(model.functions());
  GANTRY_TRY(Executor executor, runtime.executor(model, {"cpu"}));
  GANTRY_TRY(const auto inputs, runtime.read_tensors(paths.inputs));
  GANTRY_TRY(const Tensor row, inputs.front().second.row(0));
  GANTRY_TRY(const Tensor mine, runtime.tensor({1, 64}, {2, 32, 1}));
  GANTRY_CHECK(runtime.copy(row, mine));
  GANTRY_CHECK(executor.set_input("x", mine));
  GANTRY_CHECK(executor.run());
  GANTRY_TRY(const Tensor output, executor.output(0));
  if (output.elements<float>().size() != 10) return bug("the output has another shape");
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

int judge(const Status& status) {
  if (status.ok()) return 0;
  const Error& error = status.error();
  std::fprintf(stderr, "%s: %s\n", std::string(name_of(error.code)).c_str(), error.message.c_str());
  return error.message.empty() || error.code == Code::bug || error.code == Code::ok ? 72 : 1;
}

// One turn with the fault in it.
//
// told     [out]  0 or 1, as judge() has it
// returns  whether as much is alive afterwards as before
bool is_even(const Paths& paths, unsigned long nth, int& told) {
  const Alive before;
  {
    Paths mine = paths;
    fail_nth_arm(nth);
    told = judge(turn(std::move(mine)));
    fail_nth_disarm();
  }
  const Alive after;
  if (before == after) return true;
  std::fprintf(stderr, "blocks %ld -> %ld, descriptors %d -> %d, threads %d -> %d\n", before.blocks,
               after.blocks, before.descriptors, after.descriptors, before.threads, after.threads);
  return false;
}

// What is made once on the way of an error and kept is no leak: the second time it is there.
int disturbed(const Paths& paths, unsigned long nth, bool& fired) {
  int told = 0;
  const bool even = is_even(paths, nth, told);
  fired = fail_nth_fired() != 0;
  if (told > 1) return told;
  if (!even && !is_even(paths, nth, told)) return 70;
  return judge(turn(paths)) == 0 ? told : 71;
}

int every(const Paths& paths, unsigned long step) {
  // whatever is made once, is made now
  for (int i = 0; i < 3; ++i) {
    if (const int told = judge(turn(paths)); told != 0) return told;
  }
  unsigned long refused = 0, survived = 0;
  for (unsigned long nth = 1;; nth += step) {
    std::fprintf(stderr, "allocation %lu: ", nth);
    bool fired = false;
    const int told = disturbed(paths, nth, fired);
    if (told > 1) return told;
    if (!fired) break;
    ++(told == 1 ? refused : survived);
    std::fprintf(stderr, "%s", told == 0 ? "survived\n" : "");
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
    // the program's own, before it meets the library
    std::fputs("exhausted: out of memory for the arguments\n", stderr);
    return 1;
  }
  if (std::strcmp(argv[1], "once") == 0) return judge(turn(std::move(paths)));
  return every(paths, argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 1);
}
