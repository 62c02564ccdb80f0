// SPDX-License-Identifier: Apache-2.0
#include "core/base/start_program.hpp"

#include "tests/support/files.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace gantry {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
  // Closes this process's writing end and reads until no process has one.
  std::string text() {
    writing.close();
    std::string text;
    char chunk[256];
    for (ssize_t got = 0; (got = ::read(reading.get(), chunk, sizeof chunk)) > 0;)
      text.append(chunk, static_cast<std::size_t>(got));
    return text;
  }
  Descriptor reading{-1}, writing{-1};
};

ProgramStart shell(std::string script, const Pipe& output) {
  ProgramStart start;
  start.program = "/bin/sh";
  start.words = {"sh", "-c", std::move(script)};
  start.environment = environment_with({});
  start.output = output.writing.get();
  sigemptyset(&start.signals);
  return start;
}

int status_of(pid_t process) {
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  return status;
}

// A process that is killed ends nothing itself.
TEST(StartedProgram, EndsWithTheProcessThatHasStartedIt) {
  Pipe output;
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto started = start_program(shell("echo x; exec sleep 1000", output));
    char byte = 0;
    const bool runs = started.ok() && ::read(output.reading.get(), &byte, 1) == 1;
    ::_exit(runs ? 0 : 1);
  }
  EXPECT_EQ(status_of(parent), 0);

  EXPECT_EQ(output.text(), "\n");
}

TEST(StartedProgram, HasItsDescriptorsDirectoryAndGroup) {
  const test::TempDir directory;
  Pipe output, report;
  ProgramStart start = shell(
      "pwd; cat; echo report >&3; echo error >&2; [ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo "
      "leader",
      output);
  start.report = report.writing.get();
  start.directory = directory.path();

  const auto process = start_program(start);

  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_EQ(output.text(), directory.path().native() + "\nerror\nleader\n");
  EXPECT_EQ(report.text(), "report\n");
  EXPECT_EQ(status_of(*process), 0);
}

TEST(StartedProgram, IgnoresWhatItsParentIgnoresUnlessItHasDefaults) {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  for (const bool has_defaults : {false, true}) {
    Pipe output;
    ProgramStart start = shell("kill -USR1 $$; echo alive", output);
    start.has_default_signals = has_defaults;

    const pid_t process = start_program(start).value();

    EXPECT_EQ(output.text(), has_defaults ? "" : "alive\n");
    const int status = status_of(process);
    EXPECT_EQ(WIFSIGNALED(status), has_defaults);
  }
  std::signal(SIGUSR1, before);
}

TEST(StartedProgram, ReportsADirectoryAndAProgramThatAreMissing) {
  Pipe output;
  ProgramStart elsewhere = shell("true", output);
  elsewhere.directory = "/no/directory";
  ProgramStart none = shell("true", output);
  none.program = "/no/program";

  for (const ProgramStart& start : {elsewhere, none}) {
    const auto process = start_program(start);

    ASSERT_FALSE(process.ok());
    EXPECT_EQ(process.error().code, Code::unavailable);
    EXPECT_EQ(process.error().native_code, ENOENT);
    EXPECT_EQ(process.error().message, concat("program \"", start.program.native(),
                                              "\" cannot be started: No such file or directory"));
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

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
