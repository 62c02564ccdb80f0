// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/explain_plugin.hpp"

#include "tests/unit/choice/set_fixture.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::fake_manifest;
using test::ManifestBuilder;
using test::SetFixture;
using test::World;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "shadowed a.yaml"
std::vector<std::string> manifests_of(const ExplainedPlugin& plugin) {
  std::vector<std::string> all;
  for (const ExplainedManifest& one : plugin.manifests) {
    const std::string file = std::filesystem::path(one.candidate.file).filename();
    all.push_back(
        concat(one.candidate.reason ? name_of(one.candidate.reason) : name_of(one.candidate.passed),
               " ", file));
  }
  return all;
}

ExplainedPlugin explained_fake(SetFixture&& set) {
  set.plugins.inspect_all();
  Result<ExplainedPlugin> plugin = explain_plugin(set.plugins, "test.fake");
  EXPECT_TRUE(plugin.ok()) << plugin.error().message;
  return *std::move(plugin);
}

TEST(ExplainPlugin, ListsAllManifestsOfTheIdAndTheUsedOne) {
  World world;
  world.add_noted("a", "good", fake_manifest().version("1.0.0"));
  world.add_noted("b", "good", fake_manifest().version("2.0.0"));
  world.add_noted("c", "good", fake_manifest().version("3.0.0").line("enabled: false"));
  world.add_noted("d", "good", fake_manifest().id("test.other"));

  const ExplainedPlugin plugin = explained_fake(SetFixture(world));

  EXPECT_THAT(manifests_of(plugin), ElementsAre("GANTRY-D120 SHADOWED_BY a.yaml",
                                                "inspected b.yaml", "GANTRY-D411 DISABLED c.yaml"));
  EXPECT_EQ(plugin.used, 1u);
  EXPECT_EQ(plugin.manifest->version.text, "2.0.0");
}

TEST(ExplainPlugin, UsesAStoppedManifestIfNoOtherIsLeft) {
  World world;
  world.add_noted("a", "", fake_manifest().version("1.0.0"));
  world.add_noted("b", "", fake_manifest().version("2.0.0").line("enabled: false"));

  EXPECT_EQ(explained_fake(SetFixture(world)).manifest->version.text, "1.0.0");
  EXPECT_EQ(explained_fake(SetFixture(world, {}, {{"test.*", false, "GANTRY_DISABLE"}}))
                .manifest->version.text,
            "1.0.0");
}

TEST(ExplainPlugin, ListsDropInsAndTheLocation) {
  World world;
  world.add_noted("a", "good");
  std::filesystem::create_directories(world.path() / "a.yaml.d");
  test::write_file(world.path() / "a.yaml.d/10.yaml", std::string_view("priority: 3\n"));

  const ExplainedPlugin plugin = explained_fake(SetFixture(world));

  EXPECT_THAT(plugin.manifests[0].drop_ins,
              ElementsAre((world.path() / "a.yaml.d/10.yaml").string()));
  EXPECT_EQ(plugin.manifests[0].location, "--plugins " + world.path().string());
  EXPECT_EQ(plugin.manifest->priority, 3);
}

// Such manifests are not parsed by the search, so that their ids must be read for this.
TEST(ExplainPlugin, FindsMaskedAndReplacedManifests) {
  const test::TempDir temp;
  fake_manifest().write_to(temp / "low/fake.yaml");
  PluginLocations locations;
  locations.directories = {(temp / "high").string(), (temp / "low").string()};
  locations.exclusive = true;
  const auto explained_in = [&] {
    ChoiceOptions options;
    options.core = test::core_info();
    const PluginSet plugins(search_plugins(locations), std::move(options));
    return explain_plugin(plugins, "test.fake");
  };

  std::filesystem::create_directories(temp / "high");
  test::write_file(temp / "high/fake.yaml", std::string_view());
  const auto masked = explained_in();
  fake_manifest().version("0.5.0").write_to(temp / "high/fake.yaml");
  const auto replaced = explained_in();

  ASSERT_TRUE(masked.ok()) << masked.error().message;
  EXPECT_THAT(manifests_of(*masked), ElementsAre("GANTRY-D110 MASKED fake.yaml"));
  EXPECT_FALSE(masked->manifest);
  EXPECT_EQ(masked->offers.requirements.front().requirement.what, "fake");
  ASSERT_TRUE(replaced.ok()) << replaced.error().message;
  EXPECT_THAT(manifests_of(*replaced),
              ElementsAre("eligible fake.yaml", "GANTRY-D111 REPLACED_BY fake.yaml"));
  EXPECT_EQ(replaced->manifest->version.text, "0.5.0");
}

TEST(ExplainPlugin, ExplainsItsKeysAliasesAndDevicesWithTheChanges) {
  World world;
  world.add_noted(
      "a", "good",
      fake_manifest().set("keys", "[{key: fake, aliases: [older]}]").line("enabled: false"));
  world.add_noted("b", "good", ManifestBuilder().id("test.b").key("fake"));

  const ExplainedPlugin plugin = explained_fake(SetFixture(world));

  std::vector<std::string> offers;
  for (const ExplainedRequirement& entry : plugin.offers.requirements) {
    offers.push_back(concat(entry.requirement.what, entry.requirement.device ? " device " : " ",
                            entry.served ? entry.candidates.front().id : "none"));
  }
  EXPECT_THAT(offers, ElementsAre("fake test.b", "older none", "fake_device device none"));
  EXPECT_THAT(plugin.offers.requirements[1].candidates[0].changes,
              ElementsAre("a drop-in or its manifest sets enabled: true"));
  EXPECT_THAT(plugin.offers.requirements[0].candidates[0].changes, IsEmpty());
}

TEST(ExplainPlugin, ListsIdsUnreadableManifestsAndLocationsForAnUnknownId) {
  World world;
  world.add_noted("a", "");
  world.add_noted("b", "", fake_manifest().id("acme.npu"));
  test::write_file(world.path() / "broken.yaml", std::string_view("schema: [\n"));
  const SetFixture set(world);

  const auto plugin = explain_plugin(set.plugins, "test.fakr");

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::not_found);
  EXPECT_EQ(plugin.error().reason, "NO_PLUGIN");
  const std::string directory = world.path().string();
  EXPECT_EQ(plugin.error().message,
            "plugin \"test.fakr\" not found, did you mean \"test.fake\""
            "\n  installed plugins: acme.npu, test.fake"
            "\n  manifest that cannot be read: " +
                directory +
                "/broken.yaml, GANTRY-D150 YAML_SYNTAX"
                "\n  searched: 1 --plugins " +
                directory +
                " (3 files); 3 GANTRY_PLUGIN_FILES (unset); 3 GANTRY_ADD_PLUGIN_FILES (unset)");
}

}  // namespace
}  // namespace gantry
