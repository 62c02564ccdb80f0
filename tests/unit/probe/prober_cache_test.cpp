// SPDX-License-Identifier: Apache-2.0
//
// Verdicts that cannot be written, are damaged, or belong to others.
#include "core/probe/prober.hpp"
#include "tests/unit/probe/probe_world.hpp"

#include <gmock/gmock.h>

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
                         ::testing::Values("", "GTRYCCH1", "{\"verdict\": \"ok\"}",
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
