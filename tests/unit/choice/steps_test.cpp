// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/steps.hpp"

#include "tests/support/manifest_builder.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::ManifestBuilder;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ManifestBuilder fake(std::string_view id = "test.fake") {
  return ManifestBuilder().id(id).key("fake");
}

// Takes the manifests of two directories through the steps, of which `high` has precedence. Both are in
// one tier; with `low_tier` the second is in a lower one.
Discovery merge(const TempDir& dir, const std::vector<PluginFilter>& filters = {},
                bool low_tier = false, ChoiceOptions options = {}) {
  PluginLocations locations;
  locations.host.clear();
  locations.directories = {(dir / "high").string()};
  (low_tier ? locations.config_directories : locations.directories)
      .push_back((dir / "low").string());
  std::filesystem::create_directories(dir / "high");
  std::filesystem::create_directories(dir / "low");
  SearchResult found = search_plugins(locations);
  options.filters = filters;
  return discover(found, options);
}

Discovery discovered(const PluginLocations& locations) {
  SearchResult found = search_plugins(locations);
  return discover(found, {});
}

// The checks of owners and modes; others may write to `untrusted`.
ChoiceOptions distrusting(const std::filesystem::path& untrusted) {
  std::filesystem::permissions(untrusted, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  ChoiceOptions options;
  options.trust =
      std::make_shared<const Trust>(Trust::open({.trust_file = "", .lock_file = ""}).value());
  return options;
}

// "high/x.yaml eligible", "low/x.yaml D111"
std::vector<std::string> outcomes(const Discovery& result, const TempDir& dir) {
  std::vector<std::string> all;
  for (const Candidate& one : result.candidates) {
    const std::string file =
        std::filesystem::path(one.file).lexically_relative(dir.path()).string();
    all.push_back(one.stopped() ? concat(file, " D", one.reason.number)
                                : concat(file, " ", name_of(one.passed)));
  }
  return all;
}

TEST(Steps, ReplacesFilesOfTheSameNameInLowerLocations) {
  const TempDir dir;
  fake().write_to(dir / "high/x.yaml");
  fake("test.other").write_to(dir / "low/x/x.yaml");

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("high/x.yaml eligible", "low/x/x.yaml D111"));
  EXPECT_EQ(result.candidates[1].text, concat("replaced by ", (dir / "high/x.yaml").string()));
}

// Two vendors may call their manifest plugin.yaml.
TEST(Steps, AcceptsFilesOfTheSameNameInOneLocation) {
  const TempDir dir;
  fake("test.a").write_to(dir / "low/a/plugin.yaml");
  fake("test.b").write_to(dir / "low/b/plugin.yaml");

  EXPECT_THAT(outcomes(merge(dir), dir),
              ElementsAre("low/a/plugin.yaml eligible", "low/b/plugin.yaml eligible"));
}

TEST(Steps, MasksWithAnEmptyFileOrALinkToDevNull) {
  for (const bool link : {false, true}) {
    const TempDir dir;
    fake().write_to(dir / "low/x.yaml");
    std::filesystem::create_directories(dir / "high");
    if (link) {
      std::filesystem::create_symlink("/dev/null", dir / "high/x.yaml");
    } else {
      test::write_file(dir / "high/x.yaml", std::string_view(""));
    }

    const Discovery result = merge(dir);

    EXPECT_THAT(outcomes(result, dir), ElementsAre("low/x.yaml D110")) << link;
    EXPECT_EQ(result.candidates[0].text, concat("masked by ", (dir / "high/x.yaml").string()));
  }
}

TEST(Steps, SelectsTheHighestTierOfAnId) {
  const TempDir dir;
  fake().version("1.0.0").write_to(dir / "high/a.yaml");
  fake().version("2.0.0").write_to(dir / "low/b.yaml");

  const Discovery result = merge(dir, {}, true);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("high/a.yaml eligible", "low/b.yaml D120"));
  EXPECT_EQ(result.candidates[1].text, concat("same id, newer, but in a lower tier than 1.0.0 of ",
                                              (dir / "high/a.yaml").string()));
}

TEST(Steps, SelectsTheHighestVersionOfAnIdInATier) {
  const TempDir dir;
  fake().version("1.0.0").write_to(dir / "high/a.yaml");
  fake().version("2.0.0").write_to(dir / "low/b.yaml");
  fake().version("1.5.0").write_to(dir / "low/c.yaml");

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir),
              ElementsAre("high/a.yaml D120", "low/b.yaml eligible", "low/c.yaml D120"));
  EXPECT_EQ(result.candidates[0].text,
            concat("same id, older than 2.0.0 of ", (dir / "low/b.yaml").string()));
}

TEST(Steps, DetectsTheSameLibraryUnderTwoPaths) {
  const TempDir dir;
  fake().write_to(dir / "high/lib64/x/a.yaml");
  test::write_file(dir / "high/lib64/x/libfake.so", std::string_view("library"));
  std::filesystem::create_directories(dir / "low");
  std::filesystem::create_directories(dir / "low/y");
  fake().write_to(dir / "low/y/b.yaml");
  std::filesystem::create_hard_link(dir / "high/lib64/x/libfake.so", dir / "low/y/libfake.so");
  PluginLocations locations;
  locations.host.clear();
  locations.directories = {(dir / "high/lib64").string(), (dir / "low").string()};

  const Discovery result = discovered(locations);

  EXPECT_THAT(outcomes(result, dir),
              ElementsAre("high/lib64/x/a.yaml eligible", "low/y/b.yaml D121"));
}

// Loaded twice, a plugin would register its devices twice.
class OnePluginUnderTwoNames : public ::testing::Test {
 protected:
  OnePluginUnderTwoNames() {
    fake().set("sha256", std::string(64, 'a')).write_to(dir / "high/a.yaml");
    test::write_file(dir / "high/libfake.so", std::string_view("library"));
    std::filesystem::create_directories(dir / "low");
  }
  // The outcome and the text of the second candidate.
  void expect_duplicate(std::string_view second, std::string_view text) {
    const Discovery result = merge(dir);
    EXPECT_THAT(outcomes(result, dir),
                ElementsAre("high/a.yaml eligible", concat(second, " D121")));
    ASSERT_EQ(result.candidates.size(), 2u);
    EXPECT_EQ(result.candidates[1].reason, reason::duplicate_of);
    EXPECT_EQ(result.candidates[1].text, concat(text, (dir / "high/a.yaml").string()));
  }
  TempDir dir;
};

TEST_F(OnePluginUnderTwoNames, IsFoundThroughASymlinkedDirectory) {
  std::filesystem::remove(dir / "low");
  std::filesystem::create_directory_symlink("high", dir / "low");

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("high/a.yaml eligible", "low/a.yaml D121"));
  EXPECT_EQ(result.candidates[1].text,
            concat("same file as ", (dir / "high/a.yaml").string(), " by another path"));
}

TEST_F(OnePluginUnderTwoNames, IsFoundByAHardLink) {
  fake().write_to(dir / "low/b.yaml");
  std::filesystem::create_hard_link(dir / "high/libfake.so", dir / "low/libfake.so");

  expect_duplicate("low/b.yaml", "same id and library as ");
}

TEST_F(OnePluginUnderTwoNames, IsFoundByTheDigestOfACopy) {
  fake().set("sha256", std::string(64, 'a')).write_to(dir / "low/b.yaml");
  std::filesystem::copy_file(dir / "high/libfake.so", dir / "low/libfake.so");

  expect_duplicate("low/b.yaml", "same id and library as ");
}

TEST_F(OnePluginUnderTwoNames, IsFoundByAnotherSpelling) {
  std::filesystem::create_directory_symlink(dir / "high", dir / "alias");
  for (const std::string& spelling :
       {concat((dir / "high").string(), "//./libfake.so"), (dir / "alias/libfake.so").string()}) {
    fake().library(spelling).write_to(dir / "low/b.yaml");

    expect_duplicate("low/b.yaml", "same id and library as ");
  }
}

TEST(Steps, DetectsACopyOfALibraryByItsDigest) {
  const TempDir dir;
  const std::string a = std::string(64, 'a'), b = std::string(64, 'b');
  fake().set("sha256", a).write_to(dir / "high/a.yaml");
  fake().set("sha256", a).write_to(dir / "low/b.yaml");
  fake().set("sha256", b).write_to(dir / "low/c.yaml");

  EXPECT_THAT(outcomes(merge(dir), dir),
              ElementsAre("high/a.yaml eligible", "low/b.yaml D121", "low/c.yaml D120"));
}

TEST(Steps, DoesNotShadowByACandidateThatIsNotTrusted) {
  const TempDir dir;
  fake().version("2.0.0").write_to(dir / "high/a.yaml");
  fake("test.off").line("enabled: false").write_to(dir / "high/b.yaml");
  fake().write_to(dir / "low/c.yaml");

  const Discovery result = merge(dir, {}, false, distrusting(dir / "high"));

  EXPECT_THAT(outcomes(result, dir),
              ElementsAre("high/a.yaml D252", "high/b.yaml D411", "low/c.yaml eligible"));
  EXPECT_EQ(result.candidates[2].distrust, Reason());
  // also of a disabled candidate
  EXPECT_EQ(result.candidates[1].distrust, reason::permissions);
}

// Others may write to the higher location.
TEST(Steps, NeitherMasksNorReplacesByAFileThatIsRefused) {
  for (const char* higher : {"manifest", "disabled manifest", "empty file", "link to /dev/null"}) {
    const TempDir dir;
    fake("test.trusted").write_to(dir / "low/x.yaml");
    std::filesystem::create_directories(dir / "high");
    if (higher == std::string_view("manifest")) {
      fake("test.stranger").write_to(dir / "high/x.yaml");
    } else if (higher == std::string_view("disabled manifest")) {
      fake("test.stranger").line("enabled: false").write_to(dir / "high/x.yaml");
    } else if (higher == std::string_view("empty file")) {
      test::write_file(dir / "high/x.yaml", std::string_view(""));
    } else {
      std::filesystem::create_symlink("/dev/null", dir / "high/x.yaml");
    }

    const Discovery result = merge(dir, {}, false, distrusting(dir / "high"));

    EXPECT_THAT(
        outcomes(result, dir),
        ElementsAre(concat("high/x.yaml D", higher[0] == 'd' ? 411 : 252), "low/x.yaml eligible"))
        << higher;
  }
}

TEST(Steps, ReplacesAFileThatIsRefused) {
  const TempDir dir;
  fake("test.trusted").write_to(dir / "high/x.yaml");
  fake("test.stranger").write_to(dir / "low/x.yaml");
  test::write_file(dir / "low/y.yaml", std::string_view(""));

  EXPECT_THAT(outcomes(merge(dir, {}, false, distrusting(dir / "low")), dir),
              ElementsAre("high/x.yaml eligible", "low/x.yaml D111", "low/y.yaml D252"));
}

TEST(Steps, SelectsTheVersionThatTheProcessHasOpened) {
  const TempDir dir;
  fake().version("2.0.0").write_to(dir / "high/a.yaml");
  fake().version("1.5.0").write_to(dir / "high/b.yaml");
  fake().version("1.0.0").write_to(dir / "low/c.yaml");
  fake("test.other").version("3.0.0").write_to(dir / "low/d.yaml");
  fake("test.gone").version("3.0.0").write_to(dir / "low/e.yaml");
  OpenedPlugins opened;
  const auto library = MappedFile::open(dir / "low/c.yaml").value();
  const auto open = [&](std::string_view id) {
    Manifest manifest;
    manifest.id = id;
    manifest.version = Version::parse("1.0.0").value();
    manifest.library_path = concat("/", id, ".so");
    auto claim = opened.claim(manifest, *library);
    claim.value().keep();
  };
  open("test.fake");
  open("test.gone");
  ChoiceOptions options;
  options.opened = &opened;

  const Discovery result = merge(dir, {}, false, options);

  EXPECT_THAT(outcomes(result, dir),
              ElementsAre("high/a.yaml D131", "high/b.yaml D120", "low/c.yaml eligible",
                          "low/d.yaml eligible", "low/e.yaml D131"));
  EXPECT_THAT(
      result.candidates[0].text,
      HasSubstr("plugin test.fake 1.0.0 is open in this process, 2.0.0 is not opened beside"));
  EXPECT_EQ(result.candidates[0].passed, Step::trusted);
}

TEST(Steps, KeepsAnInvalidManifestWithItsReason) {
  const TempDir dir;
  fake().line("prority: 3").write_to(dir / "high/a.yaml");
  ManifestBuilder().version("1").write_to(dir / "high/b.yaml");
  std::filesystem::create_directories(dir / "high");
  std::filesystem::create_symlink("/nowhere", dir / "high/c.yaml");

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir),
              ElementsAre("high/a.yaml D161", "high/b.yaml D160", "high/c.yaml D100"));
  EXPECT_EQ(result.candidates[0].passed, Step::named);
  EXPECT_THAT(result.candidates[0].text,
              HasSubstr("high/a.yaml:7:1: prority: unknown key, did you mean"));
}

TEST(Steps, AppliesDropInsOfTheHighestLocationLast) {
  const TempDir dir;
  fake().line("config: {a: 1, b: 1}").write_to(dir / "low/x.yaml");
  std::filesystem::create_directories(dir / "low/x.yaml.d");
  std::filesystem::create_directories(dir / "high/x.yaml.d");
  test::write_file(dir / "low/x.yaml.d/90.yaml", std::string_view("priority: 1\nrequired: true\n"));
  test::write_file(dir / "high/x.yaml.d/10.yaml",
                   std::string_view("priority: 2\nprobe: never\nenv_allow: [A]\nconfig: {b: 2}\n"));

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("low/x.yaml eligible"));
  const Manifest& manifest = *result.candidates[0].manifest;
  EXPECT_EQ(manifest.priority, 2);
  EXPECT_TRUE(manifest.required);
  EXPECT_EQ(manifest.probe, Probe::never);
  EXPECT_THAT(manifest.env_allow, ElementsAre("A"));
  ASSERT_EQ(manifest.config.size(), 2u);
  EXPECT_EQ(manifest.config[1].source, (dir / "high/x.yaml.d/10.yaml").string());
  EXPECT_THAT(result.candidates[0].drop_ins, ElementsAre((dir / "low/x.yaml.d/90.yaml").string(),
                                                         (dir / "high/x.yaml.d/10.yaml").string()));
}

TEST(Steps, RejectsADropInWithAnotherKey) {
  const TempDir dir;
  fake().write_to(dir / "low/x.yaml");
  std::filesystem::create_directories(dir / "low/x.yaml.d");
  test::write_file(dir / "low/x.yaml.d/a.yaml",
                   std::string_view("enabled: true\nlibrary: /tmp/x.so\n"));

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("low/x.yaml D168"));
  EXPECT_EQ(result.candidates[0].text, concat((dir / "low/x.yaml.d/a.yaml").string(),
                                              ":2:1: library: a drop-in may only set enabled, "
                                              "required, priority, probe, env_allow and config"));
}

TEST(Steps, WarnsAboutADropInWithoutAManifest) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "high/y.yaml.d");
  test::write_file(dir / "high/y.yaml.d/a.yaml", std::string_view("enabled: false\n"));

  EXPECT_THAT(merge(dir).warnings, ElementsAre(concat((dir / "high/y.yaml.d/a.yaml").string(),
                                                      ": no manifest is named y.yaml")));
}

TEST(Steps, SelectsTheNextCandidateOfADisabledId) {
  const TempDir dir;
  fake().line("enabled: false").write_to(dir / "high/a.yaml");
  fake().write_to(dir / "low/b.yaml");

  EXPECT_THAT(outcomes(merge(dir), dir), ElementsAre("high/a.yaml D411", "low/b.yaml eligible"));
}

TEST(Steps, ReportsTheFileThatDisabledAPlugin) {
  const TempDir dir;
  fake().write_to(dir / "high/a.yaml");
  std::filesystem::create_directories(dir / "high/a.yaml.d");
  fake("test.b").line("enabled: false").write_to(dir / "high/b.yaml");
  const auto drop_in = [&](std::string_view name, std::string_view text) {
    test::write_file(dir / "high/a.yaml.d" / name, text);
  };
  drop_in("1.yaml", "enabled: true\n");
  drop_in("2.yaml", "enabled: false\n");
  drop_in("3.yaml", "priority: 3\n");

  const Discovery result = merge(dir);

  EXPECT_EQ(result.candidates[0].text,
            "disabled by enabled: false in " + (dir / "high/a.yaml.d/2.yaml").string());
  EXPECT_EQ(result.candidates[1].text,
            "disabled by enabled: false in " + (dir / "high/b.yaml").string());
}

TEST(Steps, AppliesFiltersByIdAndFileNameInOrder) {
  const TempDir dir;
  fake("test.a").write_to(dir / "high/a.yaml");
  fake("test.b").write_to(dir / "high/b.yaml");
  fake("acme.c").write_to(dir / "high/c.yaml");
  const std::vector<PluginFilter> filters = {{"test.*", false, "GANTRY_DISABLE"},
                                             {"b.yaml", true, "GANTRY_SELECT"},
                                             {"c.yaml", false, "plugins.disable"}};

  const Discovery result = merge(dir, filters);

  EXPECT_THAT(outcomes(result, dir),
              ElementsAre("high/a.yaml D410", "high/b.yaml eligible", "high/c.yaml D410"));
  EXPECT_EQ(result.candidates[0].text, "disabled by GANTRY_DISABLE \"test.*\"");
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(Steps, WarnsAboutAFilterThatMatchesNoPlugin) {
  const TempDir dir;
  fake("gantry.opencl").write_to(dir / "high/opencl.yaml");

  EXPECT_THAT(
      merge(dir, {{"gantry.opncl", false, "GANTRY_DISABLE"}}).warnings,
      ElementsAre(
          "GANTRY_DISABLE: \"gantry.opncl\" matches no plugin, did you mean \"gantry.opencl\""));
}

TEST(Steps, StopsAPluginForAnotherHost) {
  const TempDir dir;
  fake().line("targets: {arch: [sparc]}").write_to(dir / "high/a.yaml");

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("high/a.yaml D351"));
  EXPECT_THAT(result.candidates[0].text, HasSubstr("plugin targets sparc, this host is "));
}

TEST(Steps, SelectsTheFirstOfTwoEqualVersions) {
  const TempDir dir;
  fake().write_to(dir / "high/a.yaml");
  fake().write_to(dir / "low/b.yaml");

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("high/a.yaml eligible", "low/b.yaml D120"));
  EXPECT_EQ(result.candidates[1].text, concat("same id, same version, in a lower location than "
                                              "1.0.0 of ",
                                              (dir / "high/a.yaml").string()));
}

TEST(Steps, DistinguishesTwoLibrariesOfOneFileSystem) {
  const TempDir dir;
  fake().write_to(dir / "high/a.yaml");
  fake().write_to(dir / "low/b.yaml");
  test::write_file(dir / "high/libfake.so", std::string_view("library"));
  test::write_file(dir / "low/libfake.so", std::string_view("library"));

  EXPECT_THAT(outcomes(merge(dir), dir), ElementsAre("high/a.yaml eligible", "low/b.yaml D120"));
}

TEST(Steps, DoesNotMaskWithAnotherDevice) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "high");
  std::filesystem::create_symlink("/dev/zero", dir / "high/x.yaml");

  EXPECT_EQ(merge(dir).candidates.size(), 1u);
}

TEST(Steps, KeepsTheReasonOfACandidateThatIsStoppedBeforeTheFilters) {
  const TempDir dir;
  fake().line("enabled: false").write_to(dir / "high/a.yaml");

  const Discovery disabled = merge(dir, {{"a.yaml", false, "GANTRY_DISABLE"}});
  const Discovery selected = merge(dir, {{"a.yaml", true, "GANTRY_SELECT"}});

  EXPECT_THAT(outcomes(disabled, dir), ElementsAre("high/a.yaml D411"));
  EXPECT_THAT(outcomes(selected, dir), ElementsAre("high/a.yaml D411"));
  EXPECT_EQ(selected.candidates[0].passed, Step::read);
}

TEST(Steps, DisablesACandidateTwiceAndSelectsAnEligibleOne) {
  const TempDir dir;
  fake("test.a").write_to(dir / "high/a.yaml");
  fake("test.b").write_to(dir / "high/b.yaml");

  const Discovery result = merge(dir, {{"a.yaml", false, "GANTRY_DISABLE"},
                                       {"test.a", false, "plugins.disable"},
                                       {"b.yaml", true, "GANTRY_SELECT"}});

  EXPECT_THAT(outcomes(result, dir), ElementsAre("high/a.yaml D410", "high/b.yaml eligible"));
}

TEST(Steps, RecordsTheLocationOfACandidate) {
  const TempDir dir;
  fake("test.a").write_to(dir / "high/a.yaml");
  fake("test.b").write_to(dir / "low/b.yaml");

  const Discovery result = merge(dir);

  ASSERT_EQ(result.candidates.size(), 2u);
  EXPECT_EQ(result.candidates[0].location, 0u);
  EXPECT_EQ(result.candidates[1].location, 1u);
  EXPECT_EQ(result.candidates[1].location_name, concat("--plugins ", (dir / "low").string()));
}

TEST(Steps, KeepsAMissingManifestWithItsReason) {
  PluginLocations locations;
  locations.host.clear();
  locations.manifests = {"/nowhere/x.yaml"};

  const Discovery result = discovered(locations);

  ASSERT_EQ(result.candidates.size(), 1u);
  EXPECT_EQ(result.candidates[0].reason, reason::not_found);
  EXPECT_EQ(result.candidates[0].text, "no such file or directory");
}

TEST(Steps, SuggestsTheFileNameOfAPlugin) {
  const TempDir dir;
  fake("acme.npu").write_to(dir / "high/opencl.yaml");

  EXPECT_THAT(merge(dir, {{"opncl.yaml", false, "GANTRY_DISABLE"}}).warnings,
              ElementsAre("GANTRY_DISABLE: \"opncl.yaml\" matches no plugin, did you mean "
                          "\"opencl.yaml\""));
}

TEST(Steps, ReturnsTheWarningsOfManifests) {
  const TempDir dir;
  fake()
      .schema("1.4")
      .set("schema_min", "\"1.0\"")
      .line("sparkle: 1")
      .write_to(dir / "high/a.yaml");

  EXPECT_THAT(merge(dir).warnings, ElementsAre(HasSubstr("sparkle: unknown key")));
}

TEST(Steps, IgnoresKeysForToolsInADropIn) {
  const TempDir dir;
  fake().write_to(dir / "high/a.yaml");
  std::filesystem::create_directories(dir / "high/a.yaml.d");
  test::write_file(dir / "high/a.yaml.d/1.yaml", std::string_view("x-acme: 1\npriority: 2\n"));

  const Discovery result = merge(dir);

  EXPECT_THAT(outcomes(result, dir), ElementsAre("high/a.yaml eligible"));
  EXPECT_EQ(result.candidates[0].manifest->priority, 2);
}

}  // namespace
}  // namespace gantry
