// SPDX-License-Identifier: Apache-2.0
//
// The status line of long work, on a terminal that takes the place of stderr.
#include "tools/gantry/common/work_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace gantry::cli {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Redirects stderr to a terminal until finish().
class TerminalForStderr {
 public:
  TerminalForStderr() {
    winsize size{};
    size.ws_col = 40;
    int slave = -1;
    EXPECT_EQ(openpty(&master_, &slave, nullptr, nullptr, &size), 0);
    saved_ = dup(STDERR_FILENO);
    dup2(slave, STDERR_FILENO);
    close(slave);
  }
  ~TerminalForStderr() {
    if (saved_ >= 0) finish();
  }
  TerminalForStderr(const TerminalForStderr&) = delete;
  TerminalForStderr& operator=(const TerminalForStderr&) = delete;

  // Returns what the terminal received since the last call, of which there must be some.
  std::string received() {
    char bytes[4096];
    const ssize_t count = read(master_, bytes, sizeof bytes);
    return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
  }
  // Restores stderr. Returns what the terminal received since the last received().
  std::string finish() {
    std::fputs("|", stderr);
    std::string all;
    while (!all.ends_with("|")) all += received();
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(master_);
    saved_ = -1;
    return all.substr(0, all.size() - 1);
  }

 private:
  int master_ = -1;
  int saved_ = -1;
};

TEST(WorkText, HasTheSecondsThatPassed) {
  EXPECT_EQ(work_text("compiling", milliseconds(999)), "compiling");
  EXPECT_EQ(work_text("compiling", milliseconds(12'345)), "[12 s] compiling");
}

TEST(WorkText, IsOneLineWithoutControlCharacters) {
  EXPECT_EQ(work_text("a\nb\x1b[2J", milliseconds(0)), "a\\x0ab\\x1b[2J");
}

TEST(WorkLine, IsDisplayedDuringTheWorkAndErased) {
  TerminalForStderr terminal;
  {
    WorkLine line(milliseconds(0));
    line.show(1, "compiling a");
    EXPECT_EQ(terminal.received(), "\rcompiling a");
    line.show(1, "");
    EXPECT_EQ(terminal.received(), "\r           \r");
  }
  EXPECT_EQ(terminal.finish(), "");
}

TEST(WorkLine, IsNotDisplayedForShortWork) {
  TerminalForStderr terminal;
  {
    WorkLine line(std::chrono::hours(1));
    line.show(1, "compiling a");
    usleep(20'000);
    line.show(1, "");
  }
  EXPECT_EQ(terminal.finish(), "");
}

TEST(WorkLine, CountsManyShortWorksAsOne) {
  TerminalForStderr terminal;
  {
    WorkLine line(milliseconds(60));
    for (std::uint64_t i = 1; i <= 20; ++i) {
      line.show(i, "compiling a");
      usleep(20'000);
      line.show(i, "");
    }
  }
  EXPECT_THAT(terminal.finish(), HasSubstr("\rcompiling a"));
}

TEST(WorkLine, DisplaysTheWorkThatBeganFirst) {
  TerminalForStderr terminal;
  {
    WorkLine line(milliseconds(200));
    line.show(1, "compiling a");
    line.show(2, "compiling b");
    EXPECT_EQ(terminal.received(), "\rcompiling a");
    line.show(1, "");
    EXPECT_THAT(terminal.received(), HasSubstr("compiling b"));
    line.show(2, "");
  }
  EXPECT_THAT(terminal.finish(), EndsWith(" \r"));
}

TEST(WorkLine, IsErasedBeforeOtherLines) {
  TerminalForStderr terminal;
  {
    WorkLine line(milliseconds(0));
    line.show(1, "compiling a");
    EXPECT_EQ(terminal.received(), "\rcompiling a");
    line.write_lines([] { std::fputs("gantry: warning: x\n", stderr); });
    line.show(1, "");
  }
  EXPECT_THAT(terminal.finish(), StartsWith("\r           \rgantry: warning: x\r\n"));
}

}  // namespace
}  // namespace gantry::cli
