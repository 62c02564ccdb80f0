// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cfenv>
#include <csignal>
#include <cstdlib>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

// Opens changes_state.so, whose constructor makes one change.
class StateChange : public ::testing::Test {
 protected:
  ~StateChange() override { unsetenv("GANTRY_TEST_CHANGE"); }

  void open_with(const char* change, const std::string& name) {
    setenv("GANTRY_TEST_CHANGE", change, 1);
    const auto library = world.open(test::fixture("changes_state.so"));
    ASSERT_TRUE(library.ok()) << library.error().message;
    EXPECT_THAT(lines, ElementsAre(EndsWith("changes_state.so changes " + name +
                                            " while it is loaded; gantry has restored it")));
  }

  test::HostWorld world{1};
  std::vector<std::string> lines;
  const Log log{LogLevel::warning,
                [this](LogLevel, std::string_view text) { lines.emplace_back(text); }};
  StateChange() { world.services.log = &log; }
};

TEST_F(StateChange, OfTheRoundingModeIsUndone) {
  open_with("rounding", "the floating-point control register");

  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

#if defined(__x86_64__)
TEST_F(StateChange, ToFlushToZeroIsUndone) {
  open_with("flush", "the floating-point control register");

  EXPECT_EQ(_mm_getcsr() & 0x8040, 0u);
}
#endif

TEST_F(StateChange, OfTheSignalMaskIsUndone) {
  open_with("signals", "the signal mask");

  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  EXPECT_EQ(sigismember(&now, SIGTERM), 0);
}

TEST_F(StateChange, OfTheWorkingDirectoryIsUndone) {
  const auto before = std::filesystem::current_path();

  open_with("directory", "the working directory");

  EXPECT_EQ(std::filesystem::current_path(), before);
}

TEST_F(StateChange, OfAStandardDescriptorIsUndone) {
  struct stat before {
  }, now{};
  ASSERT_EQ(fstat(1, &before), 0);

  open_with("output", "standard output");

  ASSERT_EQ(fstat(1, &now), 0);
  EXPECT_EQ(now.st_ino, before.st_ino);
}

TEST_F(StateChange, IsUndoneWithoutALog) {
  world.services.log = nullptr;
  setenv("GANTRY_TEST_CHANGE", "rounding", 1);

  ASSERT_TRUE(world.open(test::fixture("changes_state.so")).ok());

  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_F(StateChange, OfNothingIsNotLogged) {
  ASSERT_TRUE(world.open(test::fixture("changes_state.so")).ok());

  EXPECT_THAT(lines, IsEmpty());
}

}  // namespace
}  // namespace gantry
