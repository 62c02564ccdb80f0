// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.hpp"

#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace gantry {
namespace {

using namespace std::chrono_literals;
using Cause = ProgramEnd::Cause;

ProgramStart shell(std::string script) {
  ProgramStart start;
  start.program = "/bin/sh";
  start.words = {"sh", "-c", std::move(script)};
  start.environment = environment_with({});
  return start;
}

ProgramEnd run(const ProgramStart& start, const ProgramLimits& limits = {},
               const OnReport& on_report = {}) {
  return run_program(start, limits, on_report).value();
}

ProgramLimits within(std::chrono::milliseconds time) {
  ProgramLimits limits;
  limits.time = time;
  return limits;
}

// A file from which end_of() reads until no process has it open any more.
class Fifo {
 public:
  Fifo() {
    EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
    reading_ = Descriptor(::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_EQ(::fcntl(reading_.get(), F_SETFL, 0), 0);
  }
  std::string path() const { return (directory_ / "fifo").string(); }
  std::string text() {
    std::string text;
    char chunk[256];
    for (ssize_t got = 0; (got = ::read(reading_.get(), chunk, sizeof chunk)) > 0;)
      text.append(chunk, static_cast<std::size_t>(got));
    return text;
  }

 private:
  test::TempDir directory_;
  Descriptor reading_{-1};
};

// A process that is killed ends nothing itself.
TEST(RunProgram, EndsWithTheProcessThatHasStartedIt) {
  Fifo fifo;
  ProgramStart start = shell("exec 4> " + fifo.path() + "; echo x >&4; echo >&3; exec sleep 1000");
  start.reports = true;
  const pid_t parent = ::fork();
  if (parent == 0) {
    (void)run_program(start, {}, [](std::string_view) -> ReportStep { ::_exit(0); });
    ::_exit(1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);

  EXPECT_EQ(fifo.text(), "x\n");
}

TEST(RunProgram, HasItsDescriptorsDirectoryAndGroup) {
  const test::TempDir directory;
  ProgramStart start = shell(
      "pwd; cat; echo report >&3; echo error >&2; [ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo "
      "leader");
  start.reports = true;
  start.directory = directory.path();
  std::string report;

  const ProgramEnd end = run(start, {}, [&](std::string_view bytes) {
    report += bytes;
    return ReportStep();
  });

  EXPECT_TRUE(end.exited_with(0));
  EXPECT_EQ(end.output, directory.path().native() + "\nerror\nleader\n");
  EXPECT_EQ(report, "report\n");
}

TEST(RunProgram, IgnoresWhatItsParentIgnoresUnlessItHasDefaults) {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  for (const bool has_defaults : {false, true}) {
    ProgramStart start = shell("kill -USR1 $$; echo alive");
    start.has_default_signals = has_defaults;

    const ProgramEnd end = run(start);

    EXPECT_EQ(end.output, has_defaults ? "" : "alive\n");
    EXPECT_EQ(end.cause, has_defaults ? Cause::signalled : Cause::exited);
    EXPECT_EQ(end.signal, has_defaults ? SIGUSR1 : 0);
  }
  std::signal(SIGUSR1, before);
}

TEST(RunProgram, ReportsADirectoryAndAProgramThatAreMissing) {
  ProgramStart elsewhere = shell("true");
  elsewhere.directory = "/no/directory";
  ProgramStart none = shell("true");
  none.program = "/no/program";

  for (const ProgramStart& start : {elsewhere, none}) {
    const auto end = run_program(start, {});

    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, Code::unavailable);
    EXPECT_EQ(end.error().native_code, ENOENT);
    EXPECT_EQ(end.error().message, concat("program \"", start.program.native(),
                                          "\" cannot be started: No such file or directory"));
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(RunProgram, KillsItsGroupAtTheLimitOfTime) {
  Fifo fifo;
  ProgramStart start =
      shell("exec 4> " + fifo.path() + "; echo waits; sleep 1000 & printf r >&3; sleep 1000");
  start.reports = true;

  const ProgramEnd end = run(start, {}, [](std::string_view) {
    ReportStep step;
    step.time = 200ms;
    return step;
  });

  EXPECT_EQ(end.cause, Cause::timed_out);
  EXPECT_EQ(end.output, "waits\n");
  EXPECT_GE(end.elapsed, 200ms);
  EXPECT_LT(end.elapsed, 900s);
  EXPECT_EQ(fifo.text(), "") << "the process that it has started runs";
}

TEST(RunProgram, HasALimitOfTimeFromItsStart) {
  EXPECT_EQ(run(shell("exec sleep 1000"), within(50ms)).cause, Cause::timed_out);
}

TEST(RunProgram, KillsWhatIsLeftOfItsGroupUnlessItIsATool) {
  for (const bool is_tool : {false, true}) {
    const test::TempDir directory;
    ProgramStart start = shell(
        "(sleep 0.2; touch done) > /dev/null 2>&1 & echo $! > process; "
        "while ! [ -s process ]; do :; done");
    start.directory = directory.path();
    start.is_tool = is_tool;

    EXPECT_TRUE(run(start).exited_with(0));

    const pid_t left = std::atoi(test::file_text(directory / "process").c_str());
    for (int i = 0; i < 1000 && ::kill(left, 0) == 0; ++i) ::usleep(10'000);
    EXPECT_EQ(std::filesystem::exists(directory / "done"), is_tool);
  }
}

TEST(RunProgram, IsKilledAtTheLimitOfOutput) {
  ProgramLimits limits;
  limits.output_bytes = 1 << 20;
  limits.kept_bytes = 100;

  const ProgramEnd end = run(shell("while :; do echo 0123456789; done"), limits);

  EXPECT_EQ(end.cause, Cause::flooded);
  EXPECT_EQ(end.output.size(), 100u);
  EXPECT_GT(end.dropped_bytes, (1u << 20) - 100);
}

TEST(RunProgram, IsKilledAtTheLimitOfMemory) {
  ProgramLimits limits;
  limits.memory_bytes = 64 << 20;

  const ProgramEnd end =
      run(shell("exec dd if=/dev/zero of=/dev/null bs=256M count=100000 2> /dev/null"), limits);

  EXPECT_EQ(end.cause, Cause::out_of_memory);
}

TEST(RunProgram, KeepsTheBeginningOrTheEndOfItsOutput) {
  ProgramLimits limits;
  limits.kept_bytes = 4;
  EXPECT_EQ(run(shell("echo 0123456789"), limits).output, "789\n");

  limits.keeps_beginning = true;
  const ProgramEnd end = run(shell("echo 0123456789"), limits);

  EXPECT_EQ(end.output, "0123");
  EXPECT_EQ(end.dropped_bytes, 7u);
}

// It is one part after the other: between them it waits for the answer.
TEST(RunProgram, ReadsAnswersToItsReports) {
  ProgramStart start =
      shell("echo first; printf r >&3; a=$(head -c 1 <&3); echo got $a; printf s >&3; sleep 1000");
  start.reports = true;
  std::string reports;

  const ProgramEnd end = run(start, {}, [&](std::string_view bytes) {
    reports += bytes;
    ReportStep step;
    step.removes_output = reports == "r";
    step.is_done = reports == "rs";
    step.answer = "A";
    return step;
  });

  EXPECT_EQ(reports, "rs");
  EXPECT_EQ(end.cause, Cause::done);
  EXPECT_EQ(end.output, "got A\n");
}

// A program that reports "h" for each signal, after "r": its handler is set.
ProgramStart program_with_places() {
  ProgramStart start =
      shell("trap 'printf h >&3' USR1; printf r >&3; while :; do sleep 0.01; done");
  start.reports = true;
  return start;
}

TEST(RunProgram, ReadsThePlaceOfAProgramBeforeItIsKilledForTime) {
  ProgramLimits limits;
  limits.place_signal = SIGUSR1;
  std::string reports;

  const ProgramEnd end = run(program_with_places(), limits, [&](std::string_view bytes) {
    reports += bytes;
    ReportStep step;
    if (bytes == "r") step.time = 100ms;
    return step;
  });

  EXPECT_EQ(end.cause, Cause::timed_out);
  EXPECT_EQ(reports, "rh");
}

TEST(RunProgram, ReadsThePlaceOfAProgramAfterEachInterval) {
  ProgramLimits limits;
  limits.place_signal = SIGUSR1;
  limits.place_interval = 300ms;
  std::string reports;

  const ProgramEnd end = run(program_with_places(), limits, [&](std::string_view bytes) {
    reports += bytes;
    ReportStep step;
    step.is_done = reports == "rhh";
    return step;
  });

  EXPECT_EQ(end.cause, Cause::done);
}

// What a report removes is not missing at the end.
TEST(RunProgram, CountsNoOutputThatAReportRemovesAsDropped) {
  ProgramStart start = shell("echo first; printf r >&3; a=$(head -c 1 <&3); echo 0123456789");
  start.reports = true;
  ProgramLimits limits;
  limits.kept_bytes = 4;

  const ProgramEnd end = run(start, limits, [](std::string_view) {
    ReportStep step;
    step.removes_output = true;
    step.answer = "A";
    return step;
  });

  EXPECT_EQ(end.output, "789\n");
  EXPECT_EQ(end.dropped_bytes, 7u);
}

TEST(RunProgram, HasANewLimitOfTimeAfterAReport) {
  ProgramStart start = shell("printf r >&3; sleep 1000");
  start.reports = true;

  const ProgramEnd end = run(start, within(1000s), [](std::string_view) {
    ReportStep step;
    step.time = 100ms;
    return step;
  });

  EXPECT_EQ(end.cause, Cause::timed_out);
}

TEST(RunProgram, IsKilledWhenItClosesItsReportsIfItMustReport) {
  ProgramStart start = shell("exec 3>&-; sleep 1000");
  start.reports = true;
  ProgramLimits limits;
  limits.must_report = true;

  const ProgramEnd end = run(start, limits);

  EXPECT_EQ(end.cause, Cause::signalled);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(RunProgram, EndsIfAnotherPartOfTheProcessHasWaitedForIt) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);

  const ProgramEnd end = run(shell("exit 3"));
  const auto tool = run_program({"sh", "-c", "exit 3"}, ".", 100);

  std::signal(SIGCHLD, before);
  EXPECT_EQ(end.cause, Cause::exited);
  EXPECT_EQ(end.exit_status, -1);
  ASSERT_FALSE(tool.ok());
  EXPECT_EQ(tool.error().message, "program \"sh\": exit status is unknown: No child processes");
}

TEST(OwnProgram, IsTheFileThatThisProcessExecutes) {
  const auto program = own_program();

  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(std::filesystem::equivalent(*program, "/proc/self/exe"));
}

TEST(KilledChildren, ForgetAChildThatAnotherPartOfTheProcessHasWaitedFor) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  KilledChildren killed;
  killed.add(child);

  ASSERT_EQ(::waitpid(child, nullptr, 0), child);

  EXPECT_EQ(killed.reap(), 0u);
}

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

TEST(EnvironmentOfAProgram, HasOtherValuesOfSomeVariables) {
  ::setenv("GANTRY_TEST_A", "1", 1);
  ::setenv("GANTRY_TEST_AB", "2", 1);

  const auto environment =
      environment_with(std::vector<std::string>{"GANTRY_TEST_A=3", "GANTRY_TEST_NEW=4"});

  const auto count = [&](std::string_view entry) {
    return std::count(environment.begin(), environment.end(), entry);
  };
  EXPECT_EQ(count("GANTRY_TEST_A=1"), 0);
  EXPECT_EQ(count("GANTRY_TEST_A=3"), 1);
  EXPECT_EQ(count("GANTRY_TEST_AB=2"), 1);
  EXPECT_EQ(count("GANTRY_TEST_NEW=4"), 1);
  ::unsetenv("GANTRY_TEST_A");
  ::unsetenv("GANTRY_TEST_AB");
}

}  // namespace
}  // namespace gantry
