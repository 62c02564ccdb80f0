// SPDX-License-Identifier: Apache-2.0
//
// A child process with mounts of its own.
#pragma once

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

namespace gantry::test {

// Mounts an empty file system at a directory, in the process only.
//
// flags    [in]   MS_*
// returns  false where mounting is not permitted
inline bool mount_own(const std::string& directory, unsigned long flags = 0) {
  return unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", directory.c_str(), "tmpfs", flags, "mode=755") == 0;
}

// Expects that a check returns an empty text in a child process in which an empty file system is
// mounted at a directory. Skips the test where mounting is not permitted.
inline void expect_with_mount(const std::string& directory, unsigned long flags,
                              const std::function<std::string()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    if (!mount_own(directory, flags)) _exit(2);
    const std::string failure = check();
    std::fprintf(stderr, "%s\n", failure.c_str());
    _exit(failure.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
    GTEST_SKIP() << "mounting a file system is not permitted";
  EXPECT_EQ(status, 0);
}

}  // namespace gantry::test
