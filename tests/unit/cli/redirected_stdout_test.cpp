// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/redirected_stdout.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace gantry::cli {
namespace {

using ::testing::ExitedWithCode;

TEST(RedirectedStdout, WritesToStandardErrorInItsScope) {
  EXPECT_EXIT(
      {
        int ends[2];
        if (::pipe(ends) != 0) _exit(2);
        ::dup2(ends[1], STDOUT_FILENO);
        std::printf("before ");
        {
          const auto redirected = RedirectedStdout::start();
          if (!redirected.ok()) _exit(2);
          std::printf("inside");
        }
        std::printf("after");
        std::fflush(stdout);
        char out[32] = {};
        if (::read(ends[0], out, sizeof out - 1) != 12) _exit(3);
        _exit(std::string_view(out) == "before after" ? 0 : 4);
      },
      ExitedWithCode(0), "^inside$");
}

TEST(RedirectedStdout, DiscardsTheOutputIfStandardErrorIsClosed) {
  EXPECT_EXIT(
      {
        int ends[2];
        if (::pipe(ends) != 0) _exit(2);
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[1]);
        ::close(STDERR_FILENO);
        {
          const auto redirected = RedirectedStdout::start();
          if (!redirected.ok()) _exit(2);
          std::printf("inside");
        }
        ::close(STDOUT_FILENO);
        char byte = 0;
        _exit(::read(ends[0], &byte, 1) == 0 ? 0 : 4);
      },
      ExitedWithCode(0), "");
}

TEST(RedirectedStdout, LeavesAClosedStandardOutputClosed) {
  EXPECT_EXIT(
      {
        ::close(STDOUT_FILENO);
        { const auto redirected = RedirectedStdout::start(); }
        struct stat found {};
        _exit(::fstat(STDOUT_FILENO, &found) != 0 ? 0 : 4);
      },
      ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gantry::cli
