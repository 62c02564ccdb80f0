// SPDX-License-Identifier: Apache-2.0
//
// Opens a plugin whose constructor and whose query change state of the thread or the process.
#include "core/plugins/library/plugin.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <locale>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gantry {
namespace {

using test::core_info;
using test::World;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) != -1; }

bool has_signal_mask(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

mode_t creation_mask() {
  const mode_t mask = umask(022);
  umask(mask);
  return mask;
}

bool is_ignored(int number) {
  struct sigaction action {};
  sigaction(number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

struct Change {
  // for the plugin
  const char* what;
  std::string_view name;
  bool (*is_undone)();
};

class PluginStateChange : public ::testing::TestWithParam<Change> {
 protected:
  ~PluginStateChange() override {
    unsetenv("GANTRY_TEST_CHANGE");
    unsetenv("GANTRY_TEST_CHANGE_IN_QUERY");
    umask(mask_);
  }

  void expect_undone(const char* variable) {
    setenv(variable, GetParam().what, 1);
    World world;
    world.add("changes", "changes_state");

    const auto plugin = open_plugin(world.manifest("changes"), core_info());

    EXPECT_TRUE(GetParam().is_undone());
    ASSERT_TRUE(plugin.ok()) << plugin.error().message;
    EXPECT_THAT((*plugin)->warnings,
                ElementsAre(concat(world.library("changes").native(), " changes ", GetParam().name,
                                   " while it is opened; gantry has restored it")));
  }

 private:
  const mode_t mask_ = umask(027);
};

TEST_P(PluginStateChange, ByItsQueryIsUndoneAndNamed) {
  expect_undone("GANTRY_TEST_CHANGE_IN_QUERY");
}

INSTANTIATE_TEST_SUITE_P(
    Every, PluginStateChange,
    ::testing::Values(
        Change{"rounding", "the floating-point control register",
               [] { return std::fegetround() == FE_TONEAREST; }},
        Change{"signals", "the signal mask", [] { return !has_signal_mask(SIGTERM); }},
        Change{"directory", "the working directory",
               [] { return std::filesystem::current_path() != "/"; }},
        Change{"input", "standard input", [] { return is_open(0); }},
        Change{"output", "standard output", [] { return is_open(1); }},
        Change{"error", "standard error", [] { return is_open(2); }},
        Change{"locale", "the locale",
               [] { return std::string_view(std::setlocale(LC_ALL, nullptr)) == "C"; }},
        Change{"thread_locale", "the locale",
               [] { return uselocale(locale_t{}) == LC_GLOBAL_LOCALE; }},
        Change{"cxx_locale", "the locale", [] { return std::locale() == std::locale::classic(); }},
        Change{"creation_mask", "the file mode creation mask",
               [] { return creation_mask() == 027; }},
        Change{"action", "the action of a signal", [] { return !is_ignored(SIGUSR2); }}),
    [](const auto& test) { return std::string(test.param.what); });

#if defined(__x86_64__)
INSTANTIATE_TEST_SUITE_P(X86, PluginStateChange,
                         ::testing::Values(Change{"flush", "the floating-point control register",
                                                  [] { return (_mm_getcsr() & 0x8040) == 0; }}));
#endif

class PluginStateChangeByConstructor : public PluginStateChange {};

TEST_P(PluginStateChangeByConstructor, IsUndoneAndNamed) { expect_undone("GANTRY_TEST_CHANGE"); }

INSTANTIATE_TEST_SUITE_P(One, PluginStateChangeByConstructor,
                         ::testing::Values(Change{"creation_mask", "the file mode creation mask",
                                                  [] { return creation_mask() == 027; }}));

TEST(PluginState, IsRestoredAlsoIfThePluginIsRefused) {
  setenv("GANTRY_TEST_CHANGE_IN_QUERY", "rounding", 1);
  World world;
  world.add("changes", "fails_with_changed_state");

  const auto plugin = open_plugin(world.manifest("changes"), core_info());
  unsetenv("GANTRY_TEST_CHANGE_IN_QUERY");

  EXPECT_FALSE(plugin.ok());
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(PluginState, ThatIsUnchangedIsNotNamed) {
  World world;
  world.add("changes", "changes_state");

  const auto plugin = open_plugin(world.manifest("changes"), core_info());

  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_THAT((*plugin)->warnings, IsEmpty());
}

}  // namespace
}  // namespace gantry
