// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/forked_work.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace gantry::cli {
namespace {

using namespace std::chrono_literals;

std::optional<ForkedFailure> run(std::size_t count, const std::function<void(std::size_t)>& work,
                                 std::chrono::milliseconds limit = 60s) {
  return run_forked(count, limit, work).value();
}

TEST(ForkedWork, HasNoFailureIfEveryCallReturns) {
  EXPECT_FALSE(run(300, [](std::size_t) {}));
}

TEST(ForkedWork, OfNothingHasNoFailure) {
  EXPECT_FALSE(run(0, [](std::size_t) { std::abort(); }));
}

TEST(ForkedWork, RunsInAnotherProcess) {
  const pid_t parent = getpid();
  EXPECT_FALSE(run(1, [&](std::size_t) {
    if (getpid() == parent) std::abort();
  }));
}

TEST(ForkedWork, ReportsTheSignalThatEndsACallAndItsLastLine) {
  const auto failure = run(3, [](std::size_t item) {
    if (item != 1) return;
    std::fputs("the first line\nthe last line \n\n", stderr);
    std::abort();
  });

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->item, 1u);
  EXPECT_EQ(failure->text,
            "the driver ended the process by signal 6 (Aborted); its last output is \"the last "
            "line\"");
}

// The handler would hide the signal, and remove the command's files.
TEST(ForkedWork, HasNoSignalHandlersOfThisProcess) {
  struct sigaction before {};
  struct sigaction handled {};
  handled.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGTERM, &handled, &before), 0);

  const auto failure = run(1, [](std::size_t) { std::raise(SIGTERM); });

  struct sigaction after {};
  sigaction(SIGTERM, &before, &after);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text,
            "the driver ended the process by signal 15 (Terminated), without output");
  EXPECT_EQ(after.sa_handler, handled.sa_handler);
}

TEST(ForkedWork, KeepsSignalsThatAreIgnored) {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  EXPECT_FALSE(run(1, [](std::size_t) { std::raise(SIGUSR1); }));
  std::signal(SIGUSR1, before);
}

TEST(ForkedWork, ReportsTheLineOfStandardOutput) {
  const auto failure = run(1, [](std::size_t) {
    std::puts("printed");
    std::fflush(stdout);
    _exit(0);
  });

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text,
            "the driver ended the process with status 0; its last output is \"printed\"");
}

TEST(ForkedWork, DoesNotReportTheOutputOfAnEarlierCall) {
  const auto failure = run(2, [](std::size_t item) {
    if (item == 1) _exit(3);
    std::fputs("fine\n", stderr);
  });

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver ended the process with status 3, without output");
}

TEST(ForkedWork, ReportsACallThatDoesNotReturn) {
  const auto failure = run(
      1, [](std::size_t) { pause(); }, 50ms);

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver did not return within 0.05 s, without output");
}

TEST(ForkedWork, ReadsMoreOutputThanAPipeHolds) {
  EXPECT_FALSE(run(1, [](std::size_t) {
    for (int i = 0; i < 20000; ++i) std::fputs("a line of output\n", stderr);
  }));
}

TEST(ForkedWork, EndsAProcessThatClosesItsOutput) {
  const auto failure = run(
      1,
      [](std::size_t) {
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        pause();
      },
      50ms);

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver did not return within 0.05 s, without output");
}

TEST(ForkedWork, EndsAProcessThatClosesAllDescriptors) {
  const auto failure = run(1, [](std::size_t) {
    for (int number = 0; number < 1024; ++number) close(number);
    pause();
  });

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver ended the process by signal 9 (Killed), without output");
}

TEST(ForkedCall, ReturnsTheAnswerAndTheOutput) {
  const std::string long_answer(300'000, 'a');

  const auto called = call_forked(60s, [&] {
    std::puts("one line");
    return long_answer;
  });

  ASSERT_TRUE(called.ok());
  EXPECT_FALSE(called->failure);
  EXPECT_EQ(called->answer, long_answer);
  EXPECT_EQ(called->printed, "one line\n");
}

TEST(ForkedCall, HasNoAnswerIfItsProcessEnds) {
  const auto called = call_forked(
      60s, []() -> std::string { std::abort(); }, "its code");

  ASSERT_TRUE(called.ok());
  ASSERT_TRUE(called->failure);
  EXPECT_EQ(called->failure->text,
            "its code ended the process by signal 6 (Aborted), without output");
  EXPECT_EQ(called->answer, "");
}

}  // namespace
}  // namespace gantry::cli
