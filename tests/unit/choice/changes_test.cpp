// SPDX-License-Identifier: Apache-2.0
//
// What would make a candidate the chosen one. Tests that can make the changes also do so.
#include "core/plugins/choice/explain.hpp"
#include "tests/unit/choice/set_fixture.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::fake_manifest;
using test::SetFixture;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ExplainedRequirement explained_with_changes(PluginSet& plugins) {
  plugins.inspect_all();
  Explanation explanation = explain(plugins, {{"fake", false, {}}});
  add_changes(plugins, explanation);
  return explanation.requirements.front();
}

// The changes for the candidate of that title, as texts.
std::vector<std::string> changes_for(SetFixture&& set, const std::string& title) {
  for (const ExplainedCandidate& one : explained_with_changes(set.plugins).candidates) {
    if (one.title == title) return {one.changes.begin(), one.changes.end()};
  }
  return {"no candidate " + title};
}

std::string chosen_by(SetFixture&& set) {
  const ExplainedRequirement entry = explained_with_changes(set.plugins);
  return entry.served ? entry.candidates.front().title : "none";
}

void write_drop_in(const World& world, const std::string& name, std::string_view text) {
  const auto directory = world.path() / (name + ".yaml.d");
  std::filesystem::create_directories(directory);
  test::write_file(directory / "10.yaml", text);
}

TEST(Changes, AreNoneForTheChosenCandidate) {
  World world;
  world.add_noted("a", "good");

  EXPECT_THAT(changes_for(SetFixture(world), "test.fake 1.0.0"), IsEmpty());
}

TEST(Changes, OfADisabledCandidateEnableIt) {
  World world;
  world.add_noted("a", "good", fake_manifest().line("enabled: false"));

  EXPECT_THAT(changes_for(SetFixture(world), "test.fake 1.0.0"),
              ElementsAre("a drop-in or its manifest sets enabled: true"));

  write_drop_in(world, "a", "enabled: true\n");
  EXPECT_EQ(chosen_by(SetFixture(world)), "test.fake 1.0.0");
}

TEST(Changes, OfAFilteredCandidateSelectIt) {
  World world;
  world.add_noted("a", "good");
  std::vector<PluginFilter> filters{{"test.*", false, "GANTRY_DISABLE"}};

  EXPECT_THAT(changes_for(SetFixture(world, {}, filters), "test.fake 1.0.0"),
              ElementsAre("plugins.select or GANTRY_SELECT names test.fake"));

  filters.push_back({"test.fake", true, "GANTRY_SELECT"});
  EXPECT_EQ(chosen_by(SetFixture(world, {}, filters)), "test.fake 1.0.0");
}

// Filters do not apply to a disabled plugin, but would once it is enabled.
TEST(Changes, OfADisabledCandidateSelectItToo) {
  World world;
  world.add_noted("a", "good", fake_manifest().line("enabled: false"));
  std::vector<PluginFilter> filters{{"a.yaml", false, "GANTRY_DISABLE"}};

  EXPECT_THAT(changes_for(SetFixture(world, {}, filters), "test.fake 1.0.0"),
              ElementsAre("a drop-in or its manifest sets enabled: true",
                          "plugins.select or GANTRY_SELECT names test.fake"));

  filters.push_back({"test.fake", true, "GANTRY_SELECT"});
  EXPECT_THAT(changes_for(SetFixture(world, {}, filters), "test.fake 1.0.0"),
              ElementsAre("a drop-in or its manifest sets enabled: true"));
}

TEST(Changes, OfAShadowedCandidateRemoveAllThatShadowIt) {
  World world;
  world.add_noted("a", "good", fake_manifest().version("1.0.0"));
  const std::string b = world.add_noted("b", "good", fake_manifest().version("1.1.0"));
  const std::string c = world.add_noted("c", "good", fake_manifest().version("1.2.0"));
  world.add_noted("d", "good", fake_manifest().version("0.9.0"));

  EXPECT_THAT(changes_for(SetFixture(world), "test.fake 1.0.0"),
              ElementsAre(b + " is removed", c + " is removed"));

  std::filesystem::remove(b);
  std::filesystem::remove(c);
  EXPECT_EQ(chosen_by(SetFixture(world)), "test.fake 1.0.0");
}

// Which of several manifests shadows the others does not change if a disabled one is removed.
TEST(Changes, OfAShadowedCandidateKeepWhatDoesNotShadowIt) {
  World world;
  world.add_noted("a", "good", fake_manifest().version("1.0.0"));
  world.add_noted("b", "good", fake_manifest().version("1.1.0").line("enabled: false"));
  const std::string c = world.add_noted("c", "good", fake_manifest().version("1.2.0"));

  EXPECT_THAT(changes_for(SetFixture(world), "test.fake 1.0.0"), ElementsAre(c + " is removed"));
}

TEST(Changes, OfARefusedCandidateNameTheRemedyOfTheCatalogue) {
  World world;
  world.add_noted("a", "");

  EXPECT_THAT(changes_for(SetFixture(world), "test.fake 1.0.0"),
              ElementsAre("GANTRY-D305 LIBRARY_MISSING is repaired: install the library, or "
                          "correct library"));
}

// A disabled plugin is not inspected by inspect_all().
TEST(Changes, ContainDefectsOfCandidatesThatWereStoppedEarlier) {
  World world;
  world.add_noted("a", "no_query", fake_manifest().line("enabled: false"));
  world.add_noted(
      "b", "",
      fake_manifest().id("test.b").line("enabled: false").set("targets", "{arch: [mips]}"));

  EXPECT_THAT(changes_for(SetFixture(world), "test.fake 1.0.0"),
              ElementsAre("a drop-in or its manifest sets enabled: true",
                          HasSubstr("GANTRY-D220 QUERY_MISSING is repaired: ")));
  EXPECT_THAT(changes_for(SetFixture(world), "test.b 1.0.0"),
              ElementsAre("a drop-in or its manifest sets enabled: true",
                          HasSubstr("GANTRY-D351 TARGET is repaired: ")));
}

// At equal priority the version and then the id decide.
TEST(Changes, OfTheNextCandidateRaiseItsPriorityAsFarAsNecessary) {
  World world;
  world.add_noted("a", "good", fake_manifest().id("test.a").line("priority: 5"));
  world.add_noted("b", "good", fake_manifest().id("test.b"));
  world.add_noted("c", "good", fake_manifest().id("test.c").version("2.0.0"));

  EXPECT_THAT(changes_for(SetFixture(world), "test.b 1.0.0"),
              ElementsAre("its priority is 6 or more, or plugins.overrides maps \"fake\" to "
                          "test.b"));
  EXPECT_THAT(changes_for(SetFixture(world), "test.c 2.0.0"),
              ElementsAre("its priority is 5 or more, or plugins.overrides maps \"fake\" to "
                          "test.c"));

  write_drop_in(world, "b", "priority: 6\n");
  EXPECT_EQ(chosen_by(SetFixture(world)), "test.b 1.0.0");
  write_drop_in(world, "b", "priority: 0\n");
  write_drop_in(world, "c", "priority: 5\n");
  EXPECT_EQ(chosen_by(SetFixture(world)), "test.c 2.0.0");
}

TEST(Changes, NameOnlyAnOverrideIfNoPriorityIsHigher) {
  World world;
  world.add_noted("a", "good", fake_manifest().id("test.a").line("priority: 1000"));
  world.add_noted("b", "good", fake_manifest().id("test.b"));

  EXPECT_THAT(changes_for(SetFixture(world), "test.b 1.0.0"),
              ElementsAre("plugins.overrides maps \"fake\" to test.b"));
  EXPECT_EQ(chosen_by(SetFixture(world, {{"fake", "test.b"}})), "test.b 1.0.0");
}

TEST(Changes, OfACandidateBesideAnOverrideChangeTheOverride) {
  World world;
  world.add_noted("a", "good", fake_manifest().id("test.a"));
  world.add_noted("b", "good", fake_manifest().id("test.b").line("enabled: false"));

  EXPECT_THAT(changes_for(SetFixture(world, {{"fake", "test.a"}}), "test.b 1.0.0"),
              ElementsAre("a drop-in or its manifest sets enabled: true",
                          "plugins.overrides maps \"fake\" to test.b"));
  EXPECT_THAT(changes_for(SetFixture(world, {{"fake", "test.b"}}), "test.b 1.0.0"),
              ElementsAre("a drop-in or its manifest sets enabled: true"));
}

TEST(Changes, ArePartOfTheErrorOfALoad) {
  World world;
  world.add_noted("a", "good", fake_manifest().line("enabled: false"));
  SetFixture set(world);
  Explanation explanation = explain(set.plugins, {{"fake", false, {}}});

  add_changes(set.plugins, explanation);

  EXPECT_THAT(unserved_error(explanation, "model.so").message,
              HasSubstr("\n      would be chosen if: a drop-in or its manifest sets enabled: "
                        "true\n"));
}

TEST(Changes, ArePartOfTheTextOfDoctor) {
  World world;
  world.add_noted("a", "good", fake_manifest().line("enabled: false"));
  world.add_noted("b", "good", fake_manifest().id("test.b"));
  SetFixture set(world);
  Explanation explanation = explain(set.plugins, {{"fake", false, {}}});

  add_changes(set.plugins, explanation);

  EXPECT_THAT(to_text(explanation),
              HasSubstr("\n           would be chosen if: a drop-in or its manifest sets enabled: "
                        "true; and its priority is 1 or more, or plugins.overrides maps \"fake\" "
                        "to test.fake\n"));
}

}  // namespace
}  // namespace gantry
