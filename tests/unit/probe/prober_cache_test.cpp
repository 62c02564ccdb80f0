// SPDX-License-Identifier: Apache-2.0
//
// Verdicts that cannot be written, are damaged, or belong to others.
#include "core/plugins/probe/prober.hpp"
#include "tests/unit/probe/probe_world.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <utility>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::is_cached;
using test::ProbeWorld;
using test::reason_of_probe;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ProberCache, KeepsVerdictsInMemoryWithoutACache) {
  ProbeWorld world("create_crashes");
  ProberOptions options = world.options();
  options.cache_directory.clear();
  Prober prober(options);
  (void)prober.probe(world.candidate());

  EXPECT_TRUE(is_cached(prober.probe(world.candidate())));
  EXPECT_FALSE(is_cached(Prober(options).probe(world.candidate())));
  EXPECT_TRUE(fs::is_empty(world.cache.path()));
}

TEST(ProberCache, KeepsVerdictsInMemoryIfTheCacheCannotBeWritten) {
  ProbeWorld world("good");
  ProberOptions options = world.options();
  options.cache_directory = (world.cache / "file").string();
  test::write_file(options.cache_directory, std::string_view("a file"));
  Prober prober(options);
  (void)prober.probe(world.candidate());

  EXPECT_TRUE(is_cached(prober.probe(world.candidate())));
  EXPECT_THAT(world.lines, ::testing::Contains(HasSubstr("cannot be written")));
}

class DamagedProberCache : public ::testing::TestWithParam<std::string> {};

TEST_P(DamagedProberCache, ProbesAgainAndLogsIt) {
  ProbeWorld world("good");
  Prober prober(world.options());
  (void)prober.probe(world.candidate());
  const fs::path file = *fs::directory_iterator(world.cache / "gantry/probe");
  test::write_file(file, std::string_view(GetParam()));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  world.lines.clear();

  const auto verdict = prober.probe(world.candidate());

  EXPECT_EQ(reason_of_probe(verdict), "passed");
  EXPECT_FALSE(is_cached(verdict));
  EXPECT_THAT(world.lines.front(), AllOf(HasSubstr("cache file "), HasSubstr(" is ignored: ")));
}

INSTANTIATE_TEST_SUITE_P(All, DamagedProberCache,
                         ::testing::Values("", "GTRYCCH2", "{\"verdict\": \"ok\"}",
                                           std::string(100'000, 'x')));

// The container of the file is intact, its content is not an entry.
TEST(ProberCache, IgnoresAnEntryOfAnotherFormat) {
  ProbeWorld world("good");
  ProberOptions options = world.options();
  DiskCache disk({.directory = options.cache_directory + "/probe"});
  const std::string key =
      DiskCache::key({"gantry probe 2", world.candidate().manifest->library_path});
  ASSERT_TRUE(disk.store(key, std::vector<std::uint8_t>(64, 0xff)));

  const auto verdict = Prober(options).probe(world.candidate());

  EXPECT_EQ(reason_of_probe(verdict), "passed");
  EXPECT_THAT(world.lines.front(), HasSubstr(" is ignored: host: length is "));
}

// Another user must not be able to decide which plugins pass.
TEST(ProberCache, IgnoresAVerdictThatOthersCanWrite) {
  ProbeWorld world("good");
  Prober prober(world.options());
  (void)prober.probe(world.candidate());
  const fs::path file = *fs::directory_iterator(world.cache / "gantry/probe");
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);

  EXPECT_FALSE(is_cached(prober.probe(world.candidate())));
}

// Everything on which the verdict of a plugin that passes depends, changed one after another.
TEST(ProberCache, DependsOnEveryFileAndEveryPropertyOfTheHost) {
  ProbeWorld world("missing_dependency");
  const fs::path needed = world.library_directory() / "libfake_dependency.so.4";
  fs::copy(test::build_tree() / "tests/fake_plugins/not_searched/libfake_dependency.so.4", needed);
  const fs::path drop_in = world.cache / "drop_in.yaml", driver = world.cache / "driver",
                 helper = world.cache / "gantry-probe";
  test::write_file(drop_in, std::string_view("priority: 1\n"));
  test::write_file(driver, std::string_view("1"));
  fs::copy_file(test::built_probe(), helper);
  Candidate plugin = world.candidate({driver.string()});
  plugin.drop_ins = {drop_in.string()};
  ProberOptions options = world.options();
  options.program.path = helper.string();
  const auto touch = [](const fs::path& file) {
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  };
  const std::pair<const char*, std::function<void()>> changes[] = {
      {"the manifest", [&] { touch(plugin.file); }},
      {"a drop-in", [&] { touch(drop_in); }},
      {"the library", [&] { touch(plugin.manifest->library_path); }},
      {"a library that it needs", [&] { touch(needed); }},
      {"a file that it requires", [&] { touch(driver); }},
      {"gantry-probe", [&] { touch(helper); }},
      {"the size of a file, at the same time",
       [&] {
         const auto time = fs::last_write_time(driver);
         test::write_file(driver, std::string_view("10"));
         fs::last_write_time(driver, time);
       }},
      {"the limit of memory", [&] { options.memory_bytes += 4096; }},
      {"the version of the core", [&] { options.core.core_version = "9.0.0"; }},
      {"the ABI", [&] { ++options.core.abi.max_minor; }},
      {"a variable", [&] { world.environment.decisive = {"A=1"}; }},
      {"the value of a variable", [&] { world.environment.decisive = {"A=2"}; }},
      {"a second variable",
       [&] {
         world.environment.decisive = {"A=2", "B=1"};
       }},
      {"a variable that is not there any more", [&] { world.environment.decisive = {"B=1"}; }},
  };
  ASSERT_EQ(reason_of_probe(Prober(options).probe(plugin)), "passed");
  ASSERT_TRUE(is_cached(Prober(options).probe(plugin)));

  for (const auto& [what, change] : changes) {
    change();
    const auto after = Prober(options).probe(plugin);
    EXPECT_EQ(reason_of_probe(after), "passed") << what;
    EXPECT_FALSE(is_cached(after)) << what;
    EXPECT_TRUE(is_cached(Prober(options).probe(plugin))) << what;
  }
}

// A file that is replaced twice within a second has its inode and size again.
TEST(ProberCache, DependsOnTheTimeOfAFileInNanoseconds) {
  ProbeWorld world("good");
  const fs::path driver = world.cache / "driver";
  test::write_file(driver, std::string_view("1"));
  const auto second = std::chrono::floor<std::chrono::seconds>(fs::last_write_time(driver));
  fs::last_write_time(driver, second);
  const Candidate plugin = world.candidate({driver.string()});
  (void)Prober(world.options()).probe(plugin);
  ASSERT_TRUE(is_cached(Prober(world.options()).probe(plugin)));

  fs::last_write_time(driver, second + std::chrono::nanoseconds(1));

  EXPECT_FALSE(is_cached(Prober(world.options()).probe(plugin)));
}

// The same for a plugin that was harmful: what is added counts as well.
TEST(ProberCache, DependsOnFilesThatAreAddedAfterAHarmfulVerdict) {
  ProbeWorld world("create_crashes");
  Candidate plugin = world.candidate();
  Prober prober(world.options());
  (void)prober.probe(plugin);
  ASSERT_TRUE(is_cached(prober.probe(plugin)));

  const fs::path drop_in = world.cache / "drop_in.yaml";
  test::write_file(drop_in, std::string_view("priority: 1\n"));
  plugin.drop_ins = {drop_in.string()};
  EXPECT_FALSE(is_cached(prober.probe(plugin)));
  ASSERT_TRUE(is_cached(prober.probe(plugin)));

  plugin.drop_ins.clear();
  EXPECT_FALSE(is_cached(prober.probe(plugin)));
}

// What changes ends the count of the failures before it.
TEST(ProberCache, CountsFailuresFromTheLastChange) {
  ProbeWorld world("create_crashes");
  Prober prober(world.options());
  const Candidate plugin = world.candidate();
  const auto probe_after = [&](std::int64_t seconds) {
    world.now_s += seconds;
    return reason_of_probe(prober.probe(plugin));
  };
  EXPECT_EQ(probe_after(0), "PROBE_CRASHED");
  EXPECT_EQ(probe_after(60), "PROBE_CRASHED");

  fs::last_write_time(plugin.file, fs::last_write_time(plugin.file) + std::chrono::seconds(1));

  EXPECT_EQ(probe_after(0), "PROBE_CRASHED");
  EXPECT_EQ(probe_after(60), "PROBE_CRASHED");
  EXPECT_EQ(probe_after(300), "QUARANTINED");
}

TEST(ProberCache, KeepsWhatPassedForEver) {
  ProbeWorld world("good");
  Prober prober(world.options());
  (void)prober.probe(world.candidate());

  world.now_s += std::int64_t{10} * 365 * 24 * 3600;

  EXPECT_TRUE(is_cached(prober.probe(world.candidate())));
  world.now_s = 0;
  EXPECT_EQ(prober.probe(world.candidate())->age_s, std::uint64_t{0});
}

// A refusal and a probe that does not run leave no verdict, and none of the verdict before.
TEST(ProberCache, KeepsTheVerdictThatItHasIfAProbeDoesNotRun) {
  ProbeWorld world("create_crashes");
  ProberOptions options = world.options();
  Prober prober(options);
  (void)prober.probe(world.candidate());
  world.now_s += 60;
  options.program.path = "/bin/false";

  EXPECT_EQ(reason_of_probe(Prober(options).probe(world.candidate())), "PROBE_FAILED");
  options.program.path = test::built_probe();

  EXPECT_EQ(reason_of_probe(Prober(options).probe(world.candidate())), "PROBE_CRASHED");
  world.now_s += 299;
  EXPECT_TRUE(is_cached(Prober(options).probe(world.candidate()))) << "the second failure";
}

// Two libraries of one plugin in one cache, on disk and in memory.
TEST(ProberCache, HasAVerdictForEachLibrary) {
  ProbeWorld world("good");
  world.world.add("other", "create_crashes", test::fake_manifest().line("probe: auto"));
  Candidate other = world.candidate();
  other.file = (world.world.path() / "other/other.yaml").string();
  other.manifest = std::make_shared<const Manifest>(world.world.manifest("other"));

  for (const bool is_on_disk : {true, false}) {
    ProberOptions options = world.options();
    if (!is_on_disk) options.cache_directory.clear();
    Prober prober(options);
    EXPECT_EQ(reason_of_probe(prober.probe(world.candidate())), "passed");
    EXPECT_EQ(reason_of_probe(prober.probe(other)), "PROBE_CRASHED");

    EXPECT_TRUE(prober.forget(other));
    EXPECT_FALSE(prober.forget(other));
    EXPECT_TRUE(is_cached(prober.probe(world.candidate())));
    EXPECT_FALSE(is_cached(prober.probe(other)));
    EXPECT_TRUE(is_cached(prober.probe(other)));
    EXPECT_TRUE(prober.forget(other));
    EXPECT_TRUE(prober.forget(world.candidate()));
  }
}

// Changes an entry as if it had been written before the system was restarted.
void age_by_a_restart(ProbeWorld& world) {
  ProbeCache cache(world.options().cache_directory, nullptr);
  const std::string library = world.candidate().manifest->library_path;
  auto entry = cache.load(library);
  ASSERT_TRUE(entry.has_value());
  entry->boot = "another";
  cache.store(library, *entry);
}

TEST(ProberCache, KeepsWhatPassedOverARestart) {
  ProbeWorld world("good");
  (void)Prober(world.options()).probe(world.candidate());

  age_by_a_restart(world);

  EXPECT_TRUE(is_cached(Prober(world.options()).probe(world.candidate())));
}

TEST(ProberCache, DropsAHarmfulVerdictAtARestart) {
  ProbeWorld world("create_crashes");
  (void)Prober(world.options()).probe(world.candidate());

  age_by_a_restart(world);

  EXPECT_FALSE(is_cached(Prober(world.options()).probe(world.candidate())));
}

}  // namespace
}  // namespace gantry
