// SPDX-License-Identifier: Apache-2.0
#include "core/base/signal_cleanup.hpp"

#include "core/base/atomic_file.hpp"
#include "core/base/child_process.hpp"
#include "core/base/temp_directory.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <thread>

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

// A program whose output is a FIFO, which is at its end when all writers have ended.
class CleanUpOfAProgram : public ::testing::Test {
 protected:
  CleanUpOfAProgram() { EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0); }

  // Runs a script with the FIFO as $0, waits for its first byte, and cleans up. Exits with 0 if the
  // script then writes `last` and ends.
  [[noreturn]] void run_and_clean_up(const std::string& script, std::string_view last) {
    std::thread([&] { (void)run_program({"sh", "-c", script, fifo}, ".", 100); }).detach();
    const int reader = ::open(fifo.c_str(), O_RDONLY);
    char byte = 0;
    (void)!::read(reader, &byte, 1);
    clean_up_for_signal();
    std::string rest;
    for (;;) {
      pollfd ready{reader, POLLIN, 0};
      if (::poll(&ready, 1, 5000) != 1) _exit(2);
      if (::read(reader, &byte, 1) != 1) _exit(rest == last ? 0 : 1);
      rest += byte;
    }
  }

  const test::TempDir directory;
  const std::string fifo = (directory / "fifo").native();
};

TEST_F(CleanUpOfAProgram, LetsItHandleTheEnd) {
  EXPECT_EXIT(run_and_clean_up("exec > $0; trap 'printf end; exit' TERM; printf 1; "
                               "while :; do sleep 0.01; done",
                               "end"),
              ExitedWithCode(0), "");
}

TEST_F(CleanUpOfAProgram, EndsThoseThatItHasStarted) {
  EXPECT_EXIT(run_and_clean_up("sh -c 'trap \"\" TERM; printf 1; exec sleep 1000' > $0 & wait", ""),
              ExitedWithCode(0), "");
}

struct Ending {
  int number;
  const char* text;
};
class EndingSignal : public ::testing::TestWithParam<Ending> {};

TEST_P(EndingSignal, CleansUpAndEndsTheProcessAsTheSignalDoes) {
  const auto ends = [&](int status) {
    const int number = GetParam().number;
    return number == SIGXFSZ ? ExitedWithCode(128 + SIGXFSZ)(status)
                             : KilledBySignal(number)(status);
  };
  EXPECT_EXIT(
      {
        handle_ending_signals();
        const CleanUpOnSignal work(prints('a'));
        std::raise(GetParam().number);
      },
      ends, std::string("^agantry: ") + GetParam().text);
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
    ::testing::Values(Ending{SIGINT, "interrupted \\(SIGINT\\)\n$"},
                      Ending{SIGTERM, "terminated \\(SIGTERM\\)\n$"},
                      Ending{SIGHUP, "terminal closed \\(SIGHUP\\)\n$"},
                      Ending{SIGXFSZ, "a file exceeds the limit of this process \\(SIGXFSZ\\)"}),
    [](const auto& test) { return concat("Signal", test.param.number); });

TEST(EndingSignal, BlocksTheOthersDuringTheWork) {
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
