// SPDX-License-Identifier: Apache-2.0
#include "core/base/end_with_parent.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace gantry {
namespace {

// Forks a process that forks another one, which calls end_with_parent() and writes a byte.
//
// after    [in]   the call follows the end of its parent
// returns  number of bytes that it has written
ssize_t written_by_a_grandchild(bool after) {
  int ends[2], alive[2];
  EXPECT_EQ(::pipe(ends), 0);
  EXPECT_EQ(::pipe(alive), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t parent = ::getpid();
    if (::fork() != 0) {
      // Ends with this process.
      ::close(alive[0]);
      char byte = 0;
      if (!after) static_cast<void>(::read(ends[0], &byte, 1));
      ::_exit(0);
    }
    ::close(alive[1]);
    char byte = 0;
    if (after) static_cast<void>(::read(alive[0], &byte, 1));
    // A process that ends closes its descriptors first.
    while (after && ::getppid() == parent) ::usleep(100);
    end_with_parent(parent);
    static_cast<void>(::write(ends[1], "x", 1));
    if (!after) ::pause();
    ::_exit(0);
  }
  ::close(alive[0]);
  ::close(alive[1]);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  char byte = 0;
  const ssize_t size = ::read(ends[0], &byte, 1);
  ::close(ends[0]);
  return size;
}

TEST(EndWithParent, EndsAProcessWhoseParentHasEnded) {
  EXPECT_EQ(written_by_a_grandchild(true), 0);
}

// The pipe has no writer once the grandchild, which pauses, is killed.
TEST(EndWithParent, EndsAProcessWhenItsParentEnds) { EXPECT_EQ(written_by_a_grandchild(false), 0); }

}  // namespace
}  // namespace gantry
