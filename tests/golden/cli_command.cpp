// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/cli_command.hpp"

#include "tests/support/files.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

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

}  // namespace

Outcome run_gantry(const std::vector<std::string>& args,
                   const std::vector<std::string>& environment) {
  const TempDir temp;
  const std::string out = (temp / "out").string();
  const std::string err = (temp / "err").string();
  std::vector<std::string> words = args;
  words.insert(words.begin(), (build_tree() / "bin/gantry").string());
  std::vector<std::string> variables{
      "PATH=/usr/bin:/bin", "LC_ALL=C",
      "GANTRY_PLUGIN_FILES=", "XDG_CACHE_HOME=" + (temp / "cache").string(),
      "ASAN_OPTIONS=" +
          std::string(std::getenv("ASAN_OPTIONS") ? std::getenv("ASAN_OPTIONS") : "")};
  variables.insert(variables.end(), environment.begin(), environment.end());

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
  if (failed != 0) {
    std::fprintf(stderr, "cannot start %s\n", words.front().c_str());
    std::abort();
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text_in(out),
          text_in(err)};
}

std::string built_plugins() { return (build_tree() / "share/gantry/plugins.d").string(); }

}  // namespace gantry::test
