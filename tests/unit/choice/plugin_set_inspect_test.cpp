// SPDX-License-Identifier: Apache-2.0
//
// Inspection of plugins without opening them.
#include "core/plugins/choice/plugin_set.hpp"

#include "tests/unit/choice/set_fixture.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::fake_manifest;
using test::ids;
using test::second;
using test::SetFixture;
using test::World;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PluginSet, FindsMissingDependenciesWithoutOpening) {
  World world;
  world.add("x", "missing_dependency");
  SetFixture fixture(world);

  EXPECT_FALSE(fixture.plugins.usable_for_key("fake", Depth::dependencies).has_value());

  EXPECT_EQ(fixture.plugins.candidates()[0].passed, Step::preferred);
  EXPECT_EQ(fixture.plugins.candidates()[0].reason, reason::lib_needed_missing);
}

TEST(PluginSet, InspectsWithoutOpening) {
  World world;
  world.add("good", "good");
  world.add("no_query", "no_query", second());
  SetFixture fixture(world);

  fixture.plugins.inspect_all();

  const std::vector<Candidate> candidates = fixture.plugins.candidates();
  EXPECT_EQ(candidates[0].passed, Step::resolved);
  EXPECT_EQ(candidates[1].passed, Step::preferred);
  EXPECT_EQ(candidates[1].reason, reason::query_missing);
  EXPECT_THAT(fixture.created, IsEmpty());
}

TEST(PluginSet, FindsTheFirstUsablePluginWithoutOpeningIt) {
  World world;
  world.add("a", "no_query", fake_manifest().id("test.a").line("priority: 2"));
  world.add("b", "", fake_manifest().id("test.b").line("priority: 1"));
  world.add("good", "good");
  SetFixture fixture(world);

  const auto choice = fixture.plugins.usable_for_key("fake", Depth::library);

  ASSERT_TRUE(choice.has_value());
  const std::vector<Candidate> candidates = fixture.plugins.candidates();
  EXPECT_EQ(candidates[*choice].manifest->id, "test.fake");
  EXPECT_EQ(candidates[*choice].passed, Step::resolved);
  EXPECT_EQ(candidates[0].reason, reason::query_missing);
  EXPECT_EQ(candidates[1].reason, reason::library_missing);
  EXPECT_FALSE(fixture.plugins.usable_for_key("other", Depth::library).has_value());
  EXPECT_THAT(fixture.created, IsEmpty());
}

TEST(PluginSet, InspectsAFailedPluginAgain) {
  World world;
  world.add("good", "", fake_manifest());
  SetFixture fixture(world);
  EXPECT_FALSE(fixture.plugins.usable_for_key("fake", Depth::library).has_value());
  EXPECT_THAT(fixture.plugins.served_keys(), IsEmpty());

  std::filesystem::copy_file(test::fake_library("good"), world.library("good"));

  EXPECT_TRUE(fixture.plugins.usable_for_key("fake", Depth::library).has_value());
  EXPECT_THAT(fixture.plugins.served_keys(), ElementsAre("fake"));
  EXPECT_FALSE(fixture.plugins.candidates()[0].stopped());
}

// An inspection cannot show why the plugin's code failed: the plugin may be tried again, and until
// then it serves no key.
TEST(PluginSet, KeepsTheFailureOfAPluginsCodeUntilItIsTriedAgain) {
  for (const char* variant : {"create_fails", "query_fails"}) {
    World world;
    // the id of the library
    world.add("a", variant, variant[0] == 'c' ? second() : fake_manifest());
    SetFixture fixture(world);
    ASSERT_FALSE(fixture.plugins.for_key("fake").ok());
    const Candidate failed = fixture.plugins.candidates()[0];

    EXPECT_TRUE(fixture.plugins.usable_for_key("fake", Depth::library).has_value()) << variant;

    EXPECT_EQ(fixture.plugins.candidates()[0].reason, failed.reason) << variant;
    EXPECT_EQ(fixture.plugins.candidates()[0].passed, failed.passed) << variant;
    EXPECT_THAT(fixture.plugins.served_keys(), IsEmpty()) << variant;
    EXPECT_THAT(fixture.plugins.served_devices(), IsEmpty()) << variant;
    EXPECT_THAT(fixture.plugins.offered_devices(), ElementsAre("fake_device")) << variant;
  }
}

TEST(PluginSet, TreatsAPluginInUseAsUsableWithoutItsFile) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world);
  ASSERT_TRUE(fixture.plugins.for_key("fake").ok());

  std::filesystem::remove(world.library("good"));

  EXPECT_TRUE(fixture.plugins.usable_for_key("fake", Depth::library).has_value());
  EXPECT_EQ(fixture.plugins.candidates()[0].passed, Step::created);
}

TEST(PluginSet, ExcludesACandidateThatIsNotInUse) {
  World world;
  world.add("good", "good");
  world.add("second", "second", second());
  SetFixture fixture(world);
  ASSERT_TRUE(fixture.plugins.open("test.fake").ok());

  for (const std::size_t i : {0u, 1u}) fixture.plugins.exclude(i, reason::not_chosen, "why");

  EXPECT_EQ(fixture.plugins.candidate(0).passed, Step::created);
  EXPECT_EQ(fixture.plugins.candidate(1).passed, Step::read);
  EXPECT_EQ(fixture.plugins.candidate(1).reason, reason::not_chosen);
  EXPECT_EQ(fixture.plugins.candidate(1).text, "why");
  EXPECT_THAT(ids(fixture.plugins, fixture.plugins.choices_for_key("fake")),
              ElementsAre("test.fake"));
}

TEST(PluginSet, ResetsTheStateOfAPluginThatFailsALaterInspection) {
  World world;
  world.add("good", "good");
  SetFixture fixture(world);
  fixture.plugins.inspect_all();
  ASSERT_EQ(fixture.plugins.candidate(0).passed, Step::resolved);
  std::filesystem::remove(world.library("good"));

  fixture.plugins.inspect_all();

  EXPECT_EQ(fixture.plugins.candidate(0).passed, Step::preferred);
  EXPECT_EQ(fixture.plugins.candidate(0).reason, reason::library_missing);
}

}  // namespace
}  // namespace gantry
