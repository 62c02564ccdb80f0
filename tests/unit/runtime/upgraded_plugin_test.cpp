// SPDX-License-Identifier: Apache-2.0
//
// Versions of a plugin that are installed and removed while runtimes use it
// (core/decisions/0007-upgrades-of-opened-plugins.md). What a process has opened lasts until its
// end, so each test is a process of its own that prints what it uses.
#include "tests/unit/library/world.hpp"

#include <gantry/embed.hpp>

#include <gmock/gmock.h>

#include <cstdio>
#include <set>
#include <string>
#include <string_view>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::fake_manifest;

constexpr const char* kOld = "test.fake-1.0.0";
constexpr const char* kNew = "test.fake-1.1.0";

// A directory of versioned plugins, as `gantry plugins install` writes it.
class UpgradedPlugin : public testing::Test {
 protected:
  UpgradedPlugin() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    world.add(kOld, "good");
  }
  void install_newer() { world.add(kNew, "newer", fake_manifest().version("1.1.0")); }
  void remove(const char* directory) { fs::remove_all(world.path() / directory); }

  Runtime runtime() const {
    RuntimeOptions options;
    options.plugin_paths = {world.path().string()};
    options.only_these_plugins = true;
    options.threads = 1;
    return Runtime::create(options).value();
  }
  // Opens the plugin of the device, and prints its version or the reason why there is none.
  static void print_use(const char* name, Runtime& of) {
    const auto device = of.device("fake_device");
    std::fprintf(stderr, "%s: %s\n", name,
                 device.ok() ? of.plugins_in_use()->at(0).c_str() : device.error().reason.c_str());
  }
  // Prints the different lines of an explanation that contain `word`, without directories.
  void print_lines(const Runtime& of, std::string_view word) const {
    std::string text = of.explain_plugins().value();
    for (std::size_t at; (at = text.find(world.path().string() + "/")) != std::string::npos;)
      text.erase(at, world.path().string().size() + 1);
    std::set<std::string> printed;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
         at = end + 1) {
      const std::string line = text.substr(at, end - at);
      if (line.find(word) != std::string::npos && printed.insert(line).second)
        std::fprintf(stderr, "%s\n", line.c_str());
    }
  }

  test::World world;
};

TEST_F(UpgradedPlugin, IsTheOneThatTheRuntimeHasFound) {
  EXPECT_EXIT(
      {
        Runtime old = runtime();
        install_newer();
        print_use("old", old);
        Runtime next = runtime();
        print_use("next", next);
        remove(kOld);
        print_use("old", old);
        print_lines(next, "RESTART_NEEDED");
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "^old: test.fake 1.0.0\n"
      "next: test.fake 1.0.0\n"
      "old: test.fake 1.0.0\n"
      "  REFUSED  test.fake 1.1.0          GANTRY-D131 RESTART_NEEDED  plugin test.fake 1.0.0 is "
      "open "
      "in this process, 1.1.0 is not opened beside it: restart the program to use 1.1.0\n"
      "           would be chosen if: GANTRY-D131 RESTART_NEEDED is repaired: restart the program "
      "to "
      "use this version\n");
}

TEST_F(UpgradedPlugin, IsTheNewVersionInANewProcess) {
  install_newer();
  EXPECT_EXIT(
      {
        Runtime next = runtime();
        print_use("next", next);
        _exit(0);
      },
      testing::ExitedWithCode(0), "^next: test.fake 1.1.0\n$");
}

TEST_F(UpgradedPlugin, IsMissingInLaterRuntimesIfTheOldVersionIsRemoved) {
  EXPECT_EXIT(
      {
        Runtime old = runtime();
        print_use("old", old);
        install_newer();
        remove(kOld);
        Runtime next = runtime();
        print_use("next", next);
        std::fprintf(stderr, "%s\n", next.device("fake_device").error().message.c_str());
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "^old: test.fake 1.0.0\n"
      "next: NO_PLUGIN\n"
      "device \"fake_device\" needs \"fake_device\", served by no plugin\n"
      "  device \"fake_device\"\n"
      "    test.fake 1.1.0 is refused, GANTRY-D131 RESTART_NEEDED: plugin test.fake 1.0.0 is open "
      "in "
      "this process, 1.1.0 is not opened beside it: restart the program to use 1.1.0\n"
      "      would be chosen if: GANTRY-D131 RESTART_NEEDED is repaired: restart the program to "
      "use "
      "this version\n");
}

// The version that the runtime has found is gone before it is opened.
TEST_F(UpgradedPlugin, IsNotOpenedByARuntimeThatHasFoundAnother) {
  Runtime old = runtime();
  install_newer();
  remove(kOld);

  const auto device = old.device("fake_device");

  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().reason, "NO_PLUGIN");
  EXPECT_THAT(device.error().message.text(),
              testing::HasSubstr("test.fake 1.0.0 is refused, GANTRY-D305 LIBRARY_MISSING: "));
}

TEST_F(UpgradedPlugin, IsRefusedAsAnotherFileAtTheSamePath) {
  EXPECT_EXIT(
      {
        Runtime old = runtime();
        print_use("old", old);
        fs::copy_file(test::fake_library("aborts_at_start"), world.path() / "new.so");
        fs::rename(world.path() / "new.so", world.library(kOld));
        Runtime next = runtime();
        print_use("next", next);
        print_use("old", old);
        print_lines(next, "STALE_MAPPED  ");
        print_lines(old, "STALE_MAPPED  ");
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "^old: test.fake 1.0.0\n"
      "next: NO_PLUGIN\n"
      "old: test.fake 1.0.0\n"
      "  REFUSED  test.fake 1.0.0          GANTRY-D130 STALE_MAPPED  test.fake-1.0.0/libfake.so is "
      "another file than the one that this process has opened by this path and still uses\n"
      "           GANTRY-D130 STALE_MAPPED  test.fake-1.0.0/libfake.so is another file");
}

}  // namespace
}  // namespace gantry
