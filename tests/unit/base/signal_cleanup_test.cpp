// SPDX-License-Identifier: Apache-2.0
#include "core/base/signal_cleanup.hpp"

#include "core/base/atomic_file.hpp"
#include "core/base/process.hpp"
#include "core/base/temp_directory.hpp"
#include "tests/support/files.hpp"

#include <gantry/descriptor.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

namespace gantry {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

// Work that prints a letter.
auto prints(char letter) {
  return [letter] { (void)!::write(STDERR_FILENO, &letter, 1); };
}

TEST(CleanUpOnSignal, RunsTheLatestWorkFirst) {
  EXPECT_EXIT(
      {
        const CleanUpOnSignal first(prints('a'));
        const CleanUpOnSignal second(prints('b'));
        clean_up_for_signal();
        _exit(0);
      },
      ExitedWithCode(0), "^ba$");
}

TEST(CleanUpOnSignal, RunsNoWorkThatHasEnded) {
  EXPECT_EXIT(
      {
        auto first = std::make_unique<CleanUpOnSignal>(prints('a'));
        auto second = std::make_unique<CleanUpOnSignal>(prints('b'));
        auto third = std::make_unique<CleanUpOnSignal>(prints('c'));
        second.reset();
        clean_up_for_signal();
        _exit(0);
      },
      ExitedWithCode(0), "^ca$");
}

TEST(CleanUpOnSignal, RemovesTemporaryFiles) {
  const test::TempDir directory;
  EXPECT_EXIT(
      {
        const auto file = AtomicFile::beside(directory / "file", {});
        const auto temporary = TempDirectory::beside(directory / "other");
        test::write_file(*temporary / "inside", "x");
        clean_up_for_signal();
        _exit(std::filesystem::is_empty(directory.path()) ? 0 : 1);
      },
      ExitedWithCode(0), "");
}

// Runs a script that sends SIGTERM to the process, its parent.
class EndedProgram : public ::testing::Test {
 protected:
  void run(const std::string& script) {
    EXPECT_EXIT(
        {
          handle_ending_signals();
          (void)run_program({"sh", "-c", script}, directory.path(), 100);
          _exit(0);
        },
        KilledBySignal(SIGTERM), "");
  }

  const test::TempDir directory;
};

TEST_F(EndedProgram, CanHandleTheSignal) {
  run("trap 'touch handled; exit' TERM; kill -TERM $PPID; "
      "for i in $(seq 500); do sleep 0.01; done");

  EXPECT_TRUE(std::filesystem::exists(directory / "handled"));
}

// The other program ignores the signal.
TEST_F(EndedProgram, IsEndedWithTheProgramsThatItHasStarted) {
  const std::filesystem::path fifo = directory / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const Descriptor reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));

  run("sh -c 'trap \"\" TERM; kill -TERM $0; sleep 5; printf late' $PPID > fifo & wait");

  pollfd ready{reader.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 10'000), 1);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << "it has run to its end";
}

struct Ending {
  int number;
  const char* text;
};
class EndingSignal : public ::testing::TestWithParam<Ending> {};

TEST_P(EndingSignal, CleansUpAndEndsTheProcessAsTheSignalDoes) {
  const auto ends = [&](int status) {
    const int number = GetParam().number;
    return number == SIGXFSZ || number == SIGXCPU ? ExitedWithCode(128 + number)(status)
                                                  : KilledBySignal(number)(status);
  };
  EXPECT_EXIT(
      {
        // SIGQUIT writes a core file
        const rlimit none{};
        setrlimit(RLIMIT_CORE, &none);
        // nohup and shells start programs that ignore some of them
        std::signal(GetParam().number, SIG_DFL);
        handle_ending_signals();
        const CleanUpOnSignal work(prints('a'));
        std::raise(GetParam().number);
      },
      ends, std::string("^a") + GetParam().text);
}

TEST_P(EndingSignal, StaysIgnored) {
  EXPECT_EXIT(
      {
        std::signal(GetParam().number, SIG_IGN);
        handle_ending_signals();
        std::raise(GetParam().number);
        _exit(0);
      },
      ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, EndingSignal,
    ::testing::Values(
        Ending{SIGINT, "gantry: interrupted \\(SIGINT\\)\n$"},
        Ending{SIGTERM, "gantry: terminated \\(SIGTERM\\)\n$"},
        Ending{SIGHUP, "gantry: terminal closed \\(SIGHUP\\)\n$"},
        Ending{SIGQUIT, "gantry: quit \\(SIGQUIT\\)\n$"},
        Ending{SIGALRM, "gantry: alarm clock \\(SIGALRM\\)\n$"}, Ending{SIGPIPE, "$"},
        Ending{SIGXCPU, "gantry: the CPU time exceeds the limit of this process \\(SIGXCPU\\)"},
        Ending{SIGXFSZ, "gantry: a file exceeds the limit of this process \\(SIGXFSZ\\)"}),
    [](const auto& test) { return concat("Signal", test.param.number); });

TEST(CleanUpOnSignal, RunsWithTheOtherSignalsBlocked) {
  EXPECT_EXIT(
      {
        handle_ending_signals();
        const CleanUpOnSignal work([] {
          sigset_t blocked;
          pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
          _exit(sigismember(&blocked, SIGINT) == 1 ? 0 : 1);
        });
        std::raise(SIGTERM);
      },
      ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gantry
