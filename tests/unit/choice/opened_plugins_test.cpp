// SPDX-License-Identifier: Apache-2.0
//
// Plugins that are installed, replaced or removed while a process uses an older version of them:
// two sets with one OpenedPlugins are two runtimes of a process.
#include "core/plugins/library/opened_plugins.hpp"

#include "core/plugins/choice/explain.hpp"
#include "tests/unit/choice/set_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::fake_library;
using test::fake_manifest;
using test::other_file_text;
using test::overwritten_text;
using test::SetFixture;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kRestart =
    "plugin test.fake 1.0.0 is open in this process, 1.1.0 is not opened beside it: restart the "
    "program to use 1.1.0";

struct Upgrade : testing::Test {
  Upgrade() { world.add("v1", "good"); }

  void install_newer() { world.add("v2", "newer", fake_manifest().version("1.1.0")); }
  SetFixture runtime(OpenedPlugins& of) { return SetFixture(world, {}, {}, nullptr, &of); }
  static std::string version(const Result<std::shared_ptr<const ActivePlugin>>& plugin) {
    return plugin.ok() ? plugin.value()->plugin->version.text : plugin.error().reason;
  }
  // "1.0.0 chosen", "1.1.0 refused GANTRY-D131 RESTART_NEEDED"
  static std::vector<std::string> explained(const PluginSet& plugins) {
    Explanation explanation = explain(plugins, {{"fake", false, {}}});
    std::vector<std::string> all;
    for (const ExplainedCandidate& one : explanation.requirements[0].candidates) {
      all.push_back(concat(one.version, " ", name_of(one.verdict),
                           one.reason ? concat(" ", name_of(one.reason)) : ""));
    }
    return all;
  }

  World world;
  OpenedPlugins process;
};

TEST_F(Upgrade, HasNoEffectOnASetThatExists) {
  SetFixture old = runtime(process);
  install_newer();

  EXPECT_EQ(version(old.plugins.for_key("fake")), "1.0.0");

  EXPECT_THAT(explained(old.plugins), ElementsAre("1.0.0 chosen"));
  OpenedPlugins of_another_process;
  EXPECT_EQ(version(runtime(of_another_process).plugins.for_key("fake")), "1.1.0");
}

TEST_F(Upgrade, LeavesTheOpenedVersionInUse) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  install_newer();

  SetFixture next = runtime(process);

  EXPECT_EQ(version(next.plugins.for_key("fake")), "1.0.0");
  EXPECT_THAT(explained(next.plugins),
              ElementsAre("1.0.0 chosen", "1.1.0 refused GANTRY-D131 RESTART_NEEDED"));
  const Candidate newer = next.plugins.candidate(1);
  EXPECT_EQ(newer.text, kRestart);
  EXPECT_EQ(newer.passed, Step::trusted);
  EXPECT_THAT(next.lines, IsEmpty());
}

TEST_F(Upgrade, IsRefusedIfTheOpenedVersionIsRemoved) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  install_newer();
  fs::remove_all(world.path() / "v1");

  SetFixture next = runtime(process);

  Explanation explanation = explain(next.plugins, {{"fake", false, {"model.so"}}});
  add_changes(next.plugins, explanation);
  const Error error = unserved_error(explanation, "model.so");
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "NO_PLUGIN");
  EXPECT_THAT(error.message.text(),
              testing::StartsWith(concat(
                  "model.so needs \"fake\", served by no plugin\n"
                  "  \"fake\", required by model.so\n"
                  "    test.fake 1.1.0 is refused, GANTRY-D131 RESTART_NEEDED: ",
                  kRestart,
                  "\n      would be chosen if: GANTRY-D131 RESTART_NEEDED is repaired: restart the "
                  "program to use this version\n")));
  EXPECT_EQ(old.plugins.for_key("fake").value()->plugin->version.text, "1.0.0");
}

// Two sets of different times: the one that opens first decides.
TEST_F(Upgrade, IsNotOpenedInOneProcessWithAnOlderVersion) {
  SetFixture old = runtime(process);
  install_newer();
  SetFixture next = runtime(process);
  ASSERT_EQ(version(next.plugins.for_key("fake")), "1.1.0");

  const auto plugin = old.plugins.for_key("fake");

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::unavailable);
  EXPECT_EQ(plugin.error().reason, "RESTART_NEEDED");
  EXPECT_EQ(
      plugin.error().message,
      "plugin test.fake 1.1.0 is open in this process, 1.0.0 is not opened beside it: restart "
      "the program to use 1.0.0");
  old.plugins.inspect_all();
  EXPECT_THAT(explained(old.plugins), ElementsAre("1.0.0 refused GANTRY-D131 RESTART_NEEDED"));
}

TEST_F(Upgrade, OfARequiredPluginIsNoErrorWhileTheOpenedVersionIsInstalled) {
  World required;
  required.add("v1", "good", fake_manifest().line("required: true"));
  SetFixture old(required, {}, {}, nullptr, &process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  required.add("v2", "newer", fake_manifest().version("1.1.0").line("required: true"));
  EXPECT_TRUE(SetFixture(required, {}, {}, nullptr, &process).plugins.check_required().ok());
  fs::remove_all(required.path() / "v1");

  const Status missing = SetFixture(required, {}, {}, nullptr, &process).plugins.check_required();

  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().reason, "RESTART_NEEDED");
  EXPECT_EQ(
      missing.error().message,
      concat("plugin test.fake 1.1.0 is required by ", (required.path() / "v2/v2.yaml").string(),
             " and cannot be used, GANTRY-D131 RESTART_NEEDED: ", kRestart));
}

TEST_F(Upgrade, IsOpenedIfTheOlderVersionCouldNotBeMapped) {
  World broken;
  broken.add("v1", "imports_nobody");
  SetFixture old(broken, {}, {}, nullptr, &process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "SYMBOL_MISSING");
  install_newer();

  EXPECT_EQ(version(runtime(process).plugins.for_key("fake")), "1.1.0");
}

// Its constructors have run, so it is as open as one that works.
TEST_F(Upgrade, IsRefusedIfTheOlderVersionFailedAfterItWasMapped) {
  World broken;
  broken.add("v1", "query_fails");
  SetFixture old(broken, {}, {}, nullptr, &process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "ABI_RANGE");
  fs::remove_all(world.path() / "v1");
  install_newer();

  EXPECT_THAT(explained(runtime(process).plugins),
              ElementsAre("1.1.0 refused GANTRY-D131 RESTART_NEEDED"));
}

// Removal keeps the mapping, and is nothing to report.
TEST_F(Upgrade, KeepsAPluginInUseWhoseFilesAreRemoved) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  fs::remove_all(world.path() / "v1");

  EXPECT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  EXPECT_THAT(explained(old.plugins), ElementsAre("1.0.0 chosen"));
  EXPECT_THAT(explained(runtime(process).plugins), IsEmpty());
}

// The same version again, as a new file: the code of the new file never runs, here it would abort.
TEST_F(Upgrade, ByAnotherFileAtTheSamePathIsReported) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  const fs::path library = world.library("v1");
  fs::copy_file(fake_library("aborts_at_start"), world.path() / "new.so");
  fs::rename(world.path() / "new.so", library);
  SetFixture next = runtime(process);

  const auto plugin = next.plugins.for_key("fake");

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::unavailable);
  EXPECT_EQ(plugin.error().reason, "STALE_MAPPED");
  EXPECT_EQ(plugin.error().message, other_file_text(library.string()));
  next.plugins.inspect_all();
  EXPECT_THAT(explained(next.plugins), ElementsAre("1.0.0 refused GANTRY-D130 STALE_MAPPED"));
  EXPECT_THAT(explained(old.plugins), ElementsAre("1.0.0 chosen GANTRY-D130 STALE_MAPPED"));
  EXPECT_THAT(to_text(explain(old.plugins, {{"fake", false, {}}})),
              HasSubstr(concat("  CHOSEN   test.fake 1.0.0          prio 0  active  ",
                               (world.path() / "v1/v1.yaml").string(),
                               "\n           GANTRY-D130 STALE_MAPPED  ", library.string(),
                               " is another file than ")));
}

// Without a truncation, which would remove pages that the linker has changed.
void overwrite_in_place(const fs::path& file) {
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).write("\x7f", 1);
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
}

TEST_F(Upgrade, ByOverwritingTheFileIsReported) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  overwrite_in_place(world.library("v1"));
  SetFixture next = runtime(process);

  const auto plugin = next.plugins.for_key("fake");

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::unavailable);
  EXPECT_EQ(plugin.error().reason, "STALE_MAPPED");
  EXPECT_EQ(plugin.error().message, overwritten_text(world.library("v1").string()));
  EXPECT_THAT(explained(old.plugins), ElementsAre("1.0.0 chosen GANTRY-D130 STALE_MAPPED"));
}

// As `gantry plugins doctor` does it, and a load before it opens a plugin.
TEST_F(Upgrade, ByAnotherFileIsFoundByAnInspection) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  overwrite_in_place(world.library("v1"));
  SetFixture next = runtime(process);

  EXPECT_FALSE(next.plugins.usable_for_key("fake", Depth::library).has_value());

  EXPECT_EQ(next.plugins.candidate(0).reason, reason::stale_mapped);
  EXPECT_EQ(next.plugins.candidate(0).text, overwritten_text(world.library("v1").string()));
  EXPECT_THAT(next.created, IsEmpty());
}

// The newer version, which is not used now, is used after a restart; so is an older one.
TEST_F(Upgrade, IsAmongTheChangesForAnOlderVersion) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  install_newer();
  world.add_noted("v3", "good", fake_manifest().version("0.9.0"));
  SetFixture next = runtime(process);

  Explanation explanation = explain(next.plugins, {{"fake", false, {}}});
  add_changes(next.plugins, explanation);

  const auto& candidates = explanation.requirements[0].candidates;
  ASSERT_EQ(candidates.size(), 3u);
  EXPECT_EQ(candidates[2].version, "0.9.0");
  EXPECT_THAT(candidates[2].changes,
              ElementsAre(concat((world.path() / "v1/v1.yaml").string(), " is removed"),
                          concat((world.path() / "v2/v2.yaml").string(), " is removed"),
                          "GANTRY-D131 RESTART_NEEDED is repaired: restart the program to use "
                          "this version"));
}

TEST_F(Upgrade, ByCopyingOverTheFileIsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // In a process of its own, which cannot use the plugin any more.
  EXPECT_EXIT(
      {
        SetFixture old = runtime(process);
        if (!old.plugins.for_key("fake").ok()) _exit(2);
        fs::copy_file(fake_library("newer"), world.library("v1"),
                      fs::copy_options::overwrite_existing);
        const auto plugin = runtime(process).plugins.for_key("fake");
        _exit(!plugin.ok() &&
                      plugin.error().message == overwritten_text(world.library("v1").string())
                  ? 0
                  : 3);
      },
      testing::ExitedWithCode(0), "");
}

// A package's new version in place of the old one: the version is the first difference.
TEST_F(Upgrade, OfAPackageInItsDirectoryNeedsARestart) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  fs::remove_all(world.path() / "v1");
  world.add("v1", "newer", fake_manifest().version("1.1.0"));

  EXPECT_THAT(explained(runtime(process).plugins),
              ElementsAre("1.1.0 refused GANTRY-D131 RESTART_NEEDED"));
}

TEST_F(Upgrade, IsNotComparedWithPluginsOfOtherProcesses) {
  SetFixture old = runtime(process);
  ASSERT_EQ(version(old.plugins.for_key("fake")), "1.0.0");
  install_newer();
  OpenedPlugins of_another_process;

  EXPECT_EQ(version(runtime(of_another_process).plugins.for_key("fake")), "1.1.0");
}

// Another thread opens a version between the inspection and the opening of this one.
TEST(OpenedPlugins, AreClaimedBeforeTheyAreMapped) {
  World world;
  world.add("v1", "good");
  world.add("v2", "newer", fake_manifest().version("1.1.0"));
  const Manifest first = world.manifest("v1"), second = world.manifest("v2");
  const auto file = MappedFile::open(first.library_path).value();
  const auto other = MappedFile::open(second.library_path).value();
  OpenedPlugins opened;
  {
    const auto claim = opened.claim(first, *file);
    ASSERT_TRUE(claim.ok());
    EXPECT_TRUE(opened.claim(first, *file).ok()) << "the same version";

    const auto refused = opened.claim(second, *other);

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().reason, "RESTART_NEEDED");
    EXPECT_EQ(refused.error().message, kRestart);
  }
  EXPECT_TRUE(opened.claim(second, *other).ok()) << "the first one was not mapped";
  { opened.claim(first, *file).value().keep(); }
  EXPECT_FALSE(opened.claim(second, *other).ok());
}

}  // namespace
}  // namespace gantry
