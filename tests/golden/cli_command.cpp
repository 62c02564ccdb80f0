// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/cli_command.hpp"

#include "tests/support/driver_caches.hpp"
#include "tests/support/files.hpp"

#include <gantry/concat.hpp>

#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gantry::test {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string text_in(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> words_of(const std::vector<std::string>& args) {
  std::vector<std::string> words = args;
  words.insert(words.begin(), (build_tree() / "bin/gantry").string());
  return words;
}

std::vector<std::string> variables_of(const TempDir& temp, const std::vector<std::string>& words,
                                      const std::vector<std::string>& environment) {
  // Listing devices loads drivers, which keep memory until the process exits.
  const bool starts_drivers = std::find(words.begin(), words.end(), "devices") != words.end();
  const char* given = std::getenv("ASAN_OPTIONS");
  const std::string sanitizer =
      concat(given != nullptr ? given : "", starts_drivers ? ":detect_leaks=0" : "");
  std::vector<std::string> variables{"PATH=/usr/bin:/bin", "LC_ALL=C", "GANTRY_PLUGIN_FILES=",
                                     "XDG_CACHE_HOME=" + (temp / "cache").string(),
                                     "ASAN_OPTIONS=" + sanitizer};
  const std::vector<std::string> caches = driver_caches();
  variables.insert(variables.end(), caches.begin(), caches.end());
  // The first of several values counts.
  variables.insert(variables.begin(), environment.begin(), environment.end());
  return variables;
}

[[noreturn]] void cannot_start(const std::vector<std::string>& words) {
  std::fprintf(stderr, "cannot start %s\n", words.front().c_str());
  std::abort();
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// out      [in]   file that receives stdout
// words    [in]   path of the program and its arguments
Outcome run_into(const std::string& out, std::vector<std::string> words,
                 const std::vector<std::string>& environment) {
  const TempDir temp;
  const std::string err = (temp / "err").string();
  std::vector<std::string> variables = variables_of(temp, words, environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, golden("").c_str());
  pid_t child = 0;
  const int failed = posix_spawn(&child, words.front().c_str(), &actions, nullptr,
                                 pointers_to(words).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) cannot_start(words);
  return {status_of(child), "", text_in(err)};
}

Outcome run_words(std::vector<std::string> words, const std::vector<std::string>& environment) {
  const TempDir temp;
  const std::string out = (temp / "out").string();
  Outcome outcome = run_into(out, std::move(words), environment);
  outcome.out = text_in(out);
  return outcome;
}

}  // namespace

Outcome run_gantry(const std::vector<std::string>& args,
                   const std::vector<std::string>& environment) {
  return run_words(words_of(args), environment);
}

Outcome run_gantry_at(const std::string& program, const std::vector<std::string>& args,
                      const std::vector<std::string>& environment) {
  std::vector<std::string> words = args;
  words.insert(words.begin(), program);
  return run_words(std::move(words), environment);
}

Outcome run_gantry_into(const std::string& out, const std::vector<std::string>& args,
                        const std::vector<std::string>& environment) {
  return run_into(out, words_of(args), environment);
}

Outcome run_gantry_on_terminal(const std::vector<std::string>& args,
                               const std::vector<std::string>& environment) {
  const TempDir temp;
  std::vector<std::string> words = words_of(args);
  std::vector<std::string> variables = variables_of(temp, words, environment);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  const std::string directory = golden("").string();
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 80;

  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    if (chdir(directory.c_str()) != 0) _exit(127);
    execve(word_pointers.front(), word_pointers.data(), variable_pointers.data());
    _exit(127);
  }
  if (child < 0) cannot_start(words);
  std::string output;
  char buffer[4096];
  // read() fails with EIO after the program has closed the terminal
  for (;;) {
    const ssize_t count = read(terminal, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output.append(buffer, static_cast<std::size_t>(count));
  }
  close(terminal);
  return {status_of(child), output, ""};
}

}  // namespace gantry::test
