// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/child.hpp"

#include "tests/bench/suite.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <sstream>

namespace gantry::bench {
namespace {

// Starts a program whose standard output is `output`, and waits for it.
//
// returns  its resources and those of its children
rusage run(const std::vector<std::string>& words, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Failed(words[0] + " cannot be started");
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Failed(words[0] + " fails");
  return used;
}

int nowhere() {
  static const int descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
  return descriptor;
}

}  // namespace

void run_child(const std::vector<std::string>& words) { run(words, nowhere()); }

ChildCost cost_of(const std::vector<std::string>& words) {
  const auto begin = std::chrono::steady_clock::now();
  const rusage used = run(words, nowhere());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return {passed.count(), static_cast<double>(used.ru_maxrss) * 1024};
}

std::vector<double> numbers_of(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Failed("cannot create a pipe");
  std::string text(4096, '\0');
  try {
    // The output fits into the pipe's buffer.
    run(words, ends[1]);
  } catch (...) {
    close(ends[0]), close(ends[1]);
    throw;
  }
  close(ends[1]);
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::istringstream in(text);
  std::vector<double> numbers;
  for (double number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

}  // namespace gantry::bench
