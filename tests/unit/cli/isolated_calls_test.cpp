// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/isolated_calls.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace gantry::cli {
namespace {

using namespace std::chrono_literals;

// A shell script replaces the hidden command: report() reports that it is prepared or that a call is
// done, without an answer of the call.
ProgramStart calls(const std::string& script) {
  ProgramStart program;
  program.program = "/bin/sh";
  program.words = {"sh", "-c",
                   "report() { printf '\\0\\0\\0\\0' >&3; head -c 1 <&3 > /dev/null; }\n" + script};
  program.environment = environment_with({});
  return program;
}

std::optional<IsolatedFailure> run(std::size_t count, const std::string& script,
                                   std::chrono::milliseconds limit = 60s) {
  return run_isolated(calls(script), count, limit).value();
}

TEST(IsolatedCalls, HaveNoFailureIfEveryCallReturns) {
  EXPECT_FALSE(run(300, "report; while :; do report; done"));
}

TEST(IsolatedCalls, OfNothingHaveNoFailure) { EXPECT_FALSE(run(0, "kill -ABRT $$")); }

TEST(IsolatedCalls, ReportTheSignalThatEndsACallAndItsLastLine) {
  const auto failure =
      run(3, "report; report; printf 'the first line\\nthe last line \\n\\n' >&2; kill -ABRT $$");

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->item, 1u);
  EXPECT_EQ(failure->text,
            "the driver ended the process by signal 6 (Aborted); its last output is \"the last "
            "line\"");
}

// The handler would hide the signal, and remove the command's files.
TEST(IsolatedCalls, HaveNoSignalHandlersOfThisProcess) {
  struct sigaction before {};
  struct sigaction handled {};
  handled.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGTERM, &handled, &before), 0);

  const auto failure = run(1, "report; kill -TERM $$");

  struct sigaction after {};
  sigaction(SIGTERM, &before, &after);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text,
            "the driver ended the process by signal 15 (Terminated), without output");
  EXPECT_EQ(after.sa_handler, handled.sa_handler);
}

TEST(IsolatedCalls, KeepSignalsThatAreIgnored) {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  EXPECT_FALSE(run(1, "report; kill -USR1 $$; report"));
  std::signal(SIGUSR1, before);
}

TEST(IsolatedCalls, ReportTheLineOfStandardOutput) {
  const auto failure = run(1, "report; echo printed; exit 0");

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text,
            "the driver ended the process with status 0; its last output is \"printed\"");
}

TEST(IsolatedCalls, DoNotReportTheOutputOfAnEarlierCall) {
  const auto failure = run(2, "report; echo fine >&2; report; exit 3");

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver ended the process with status 3, without output");
}

TEST(IsolatedCalls, ReportACallThatDoesNotReturn) {
  const auto failure = run(1, "report; exec sleep 1000", 50ms);

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver did not return within 0.05 s, without output");
}

TEST(IsolatedCalls, ReadMoreOutputThanAPipeHolds) {
  EXPECT_FALSE(run(1,
                   "report; i=0; while [ $i -lt 20000 ]; do echo 'a line of output' >&2; "
                   "i=$((i+1)); done; report"));
}

TEST(IsolatedCalls, EndAProcessThatClosesItsOutput) {
  const auto failure = run(1, "report; exec sleep 1000 >&- 2>&-", 50ms);

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver did not return within 0.05 s, without output");
}

TEST(IsolatedCalls, EndAProcessThatClosesAllDescriptors) {
  const auto failure = run(1, "report; exec sleep 1000 <&- >&- 2>&- 3>&-");

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver ended the process by signal 9 (Killed), without output");
}

TEST(IsolatedCalls, EndAProcessWhoseReportsAreNone) {
  const auto failure = run(1, "report; printf '\\377\\377\\377\\377' >&3; exec sleep 1000");

  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the driver ended the process by signal 9 (Killed), without output");
}

// What it prints before is of the command itself.
TEST(IsolatedCalls, FailIfTheProgramIsNotPrepared) {
  const auto failed = run_isolated(calls("echo no configuration >&2; exit 1"), 2, 60s);

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::unavailable);
  EXPECT_EQ(failed.error().message,
            "the child process of this command ended with status 1 before its first call; its last "
            "output is \"no configuration\"");
}

TEST(IsolatedCall, ReturnsTheAnswerAndTheOutput) {
  // 300,000 is 0x0493e0.
  const auto called =
      call_isolated(calls("echo prepared; report; echo one line; printf '\\340\\223\\004\\0' >&3; "
                          "head -c 300000 /dev/zero | tr '\\0' a >&3; exec sleep 1000"),
                    60s);

  ASSERT_TRUE(called.ok());
  EXPECT_FALSE(called->failure);
  EXPECT_EQ(called->answer, std::string(300'000, 'a'));
  EXPECT_EQ(called->printed, "one line\n");
}

TEST(IsolatedCall, HasNoAnswerIfItsProcessEnds) {
  const auto called = call_isolated(calls("report; kill -ABRT $$"), 60s, "its code");

  ASSERT_TRUE(called.ok());
  ASSERT_TRUE(called->failure);
  EXPECT_EQ(called->failure->text,
            "its code ended the process by signal 6 (Aborted), without output");
  EXPECT_EQ(called->answer, "");
}

}  // namespace
}  // namespace gantry::cli
