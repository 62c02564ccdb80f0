// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/explain.hpp"

#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::core_info;
using test::fake_manifest;
using test::ManifestBuilder;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<PluginSet> set_of(const World& world,
                                  std::vector<std::pair<std::string, std::string>> overrides = {},
                                  const std::vector<PluginFilter>& filters = {}) {
  ChoiceOptions options;
  options.core = core_info();
  options.overrides = std::move(overrides);
  options.filters = filters;
  return std::make_unique<PluginSet>(world.search(), options);
}

Requirement wanted(std::string key, std::string by = "model.so[1]") {
  return {std::move(key), false, {std::move(by)}};
}

TEST(Explain, ListsTheChosenAndTheNextPluginOfAKey) {
  World world;
  world.add("a", "", fake_manifest().id("test.a"));
  world.add("b", "", fake_manifest().id("test.b").line("priority: 5"));
  const auto plugins = set_of(world);

  const Explanation explanation = explain(*plugins, {wanted("fake")});

  EXPECT_TRUE(explanation.all_served());
  ASSERT_EQ(explanation.requirements[0].candidates.size(), 2u);
  EXPECT_EQ(explanation.requirements[0].candidates[0].id, "test.b");
  EXPECT_EQ(explanation.requirements[0].candidates[0].verdict, Verdict::chosen);
  EXPECT_EQ(explanation.requirements[0].candidates[1].verdict, Verdict::next);
}

TEST(Explain, KeepsEveryCandidateWithItsReason) {
  World world;
  world.add("a", "", fake_manifest().id("test.a"));
  world.add("b", "no_query", fake_manifest().id("test.b"));
  world.add("c", "", fake_manifest().id("test.c").line("enabled: false"));
  world.add("d", "", fake_manifest().id("test.a").version("0.9.0"));
  const auto plugins = set_of(world);
  plugins->inspect_all();

  const Explanation explanation = explain(*plugins, {wanted("fake")});

  EXPECT_FALSE(explanation.all_served());
  std::vector<std::string> seen;
  for (const ExplainedCandidate& one : explanation.requirements[0].candidates) {
    seen.push_back(concat(one.title, " ", name_of(one.verdict), " ", name_of(one.reason)));
  }
  EXPECT_THAT(seen, ElementsAre("test.a 1.0.0 refused GANTRY-D305 LIBRARY_MISSING",
                                "test.b 1.0.0 refused GANTRY-D220 QUERY_MISSING",
                                "test.c 1.0.0 skipped GANTRY-D411 DISABLED",
                                "test.a 0.9.0 shadowed GANTRY-D120 SHADOWED_BY"));
}

TEST(Explain, AdvisesHowToServeAKey) {
  World world;
  world.add("a", "", ManifestBuilder().key("relax.VMExecutable").key("cudb"));
  const auto plugins = set_of(world, {{"acme", "acme.npu"}});

  const Explanation explanation = explain(*plugins, {wanted("cuda"),
                                                     wanted("relax.Executable"),
                                                     wanted("webgpu"),
                                                     wanted("hexagon"),
                                                     wanted("acme_json"),
                                                     wanted("acme"),
                                                     {"npu", true, {"--device"}}});

  std::vector<std::string> advice;
  for (const ExplainedRequirement& requirement : explanation.requirements)
    advice.push_back(requirement.advice);
  EXPECT_THAT(
      advice,
      ElementsAre(
          "install plugin gantry.cuda (CUDA kernels)",
          "the artifact was built by an older compiler, newer ones use the key "
          "\"relax.VMExecutable\"",
          "no plugin of this version serves it (WebGPU kernels)",
          "it runs on Hexagon DSPs, by a plugin of Qualcomm; gantry contains none",
          "no known plugin serves it: obtain one from the producer of the artifact",
          "its override is plugin acme.npu: install that plugin, or change plugins.overrides",
          "install a plugin for the device"));
  EXPECT_THAT(explanation.requirements[0].near, ElementsAre("cudb"));
  EXPECT_THAT(explanation.requirements[1].near, ElementsAre("relax.VMExecutable"));
}

// An installed plugin is not advised to be installed.
TEST(Explain, AdvisesToEnableADisabledPlugin) {
  World world;
  world.add("graph", "", ManifestBuilder().id("gantry.graph").key("GraphExecutorFactory"));
  std::filesystem::create_directory(world.path() / "graph.yaml.d");
  test::write_file(world.path() / "graph.yaml.d/off.yaml", std::string_view("enabled: false\n"));
  world.add("b", "", fake_manifest().id("test.b"));
  const auto plugins = set_of(world, {}, {{"test.b", false, "GANTRY_DISABLE"}});

  const Explanation explanation =
      explain(*plugins, {wanted("GraphExecutorFactory"), {"fake_device", true, {"--device"}}});

  const ExplainedRequirement& graph = explanation.requirements[0];
  EXPECT_EQ(graph.candidates[0].reason, reason::disabled);
  EXPECT_EQ(graph.candidates[0].text,
            "disabled by enabled: false in " + (world.path() / "graph.yaml.d/off.yaml").string());
  EXPECT_EQ(graph.advice, "plugin gantry.graph 1.0.0 is installed: enable it");
  EXPECT_EQ(explanation.requirements[1].advice, "plugin test.b 1.0.0 is installed: enable it");
}

TEST(Explain, AdvisesToRemoveAManifestThatShadowsTheKey) {
  World world;
  world.add("new", "", ManifestBuilder().version("2.0.0").key("other"));
  world.add("old", "", fake_manifest());
  const auto plugins = set_of(world);

  const Explanation explanation = explain(*plugins, {wanted("fake")});

  EXPECT_EQ(explanation.requirements[0].advice,
            "plugin test.fake 1.0.0 is installed: remove the manifest that shadows it");
}

TEST(Explain, AdvisesHowToSatisfyAnOverride) {
  World world;
  world.add("broken", "no_query", fake_manifest().id("test.broken"));
  world.add("off", "", fake_manifest().id("test.off").line("enabled: false"));
  world.add("good", "", fake_manifest().id("test.good"));
  const std::pair<std::string, std::string> advice[] = {
      {"test.absent",
       "its override is plugin test.absent: install that plugin, or change plugins.overrides"},
      {"test.broken",
       "its override is plugin test.broken, which cannot be used: repair that plugin, or "
       "change plugins.overrides"},
      {"test.off",
       "its override is plugin test.off, which is disabled: enable that plugin, or change "
       "plugins.overrides"}};
  for (const auto& [id, text] : advice) {
    const auto plugins = set_of(world, {{"fake", id}});
    EXPECT_FALSE(id == "test.broken" && plugins->usable_for_key("fake", Depth::library));

    EXPECT_EQ(explain(*plugins, {wanted("fake")}).requirements[0].advice, text);
  }
  const auto plugins = set_of(world, {{"other", "test.good"}});
  EXPECT_EQ(
      explain(*plugins, {wanted("other")}).requirements[0].advice,
      "its override is plugin test.good, which does not offer it: install a version that does, "
      "or change plugins.overrides");
}

TEST(UnservedError, IsUnsupportedIfOnlyPluginsOfVendorsWouldServeTheKeys) {
  World world;
  world.add("clml", "no_query", ManifestBuilder().id("qualcomm.clml").key("clml"));
  const auto plugins = set_of(world);
  const auto error_of = [&](std::vector<Requirement> requirements) {
    return unserved_error(explain(*plugins, requirements), "model.so");
  };

  const Error vendors = error_of({wanted("hipblas_json"), wanted("coreml")});
  EXPECT_EQ(vendors.code, Code::unsupported);
  EXPECT_EQ(vendors.reason, "NO_PLUGIN");
  EXPECT_THAT(
      vendors.message.text(),
      testing::AllOf(
          HasSubstr("\n    it runs on ROCm GPUs with hipBLAS, by a plugin of AMD; gantry contains "
                    "none\n"),
          HasSubstr("\n    it runs on Apple devices with Core ML, by a plugin of Apple; "
                    "gantry contains none\n")));
  EXPECT_EQ(error_of({wanted("hipblas_json"), wanted("acme_npu")}).code, Code::unavailable);
  EXPECT_EQ(error_of({wanted("cuda")}).code, Code::unavailable);
}

// A plugin that the vendor has installed and that cannot be used is the reason.
TEST(UnservedError, IsUnavailableIfThePluginOfTheVendorIsBroken) {
  World world;
  world.add("clml", "no_query", ManifestBuilder().id("qualcomm.clml").key("clml"));
  const auto plugins = set_of(world);
  EXPECT_FALSE(plugins->usable_for_key("clml", Depth::library));

  const Error error = unserved_error(explain(*plugins, {wanted("clml")}), "model.so");

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_THAT(error.message.text(), ::testing::Not(HasSubstr("Adreno")));
}

// A key that is not served must not be listed as served or as a near name in the same text.
TEST(UnservedError, DoesNotListUnservedKeysAsServed) {
  World world;
  world.add("graph", "no_query",
            ManifestBuilder()
                .id("gantry.graph")
                .set("keys", "[{key: GraphExecutorFactory, aliases: [GraphRuntimeFactory]}]"));
  world.add("good", "good");
  const auto plugins = set_of(world, {{"fake", "test.absent"}});
  EXPECT_FALSE(plugins->usable_for_key("GraphExecutorFactory", Depth::library));

  const Explanation explanation =
      explain(*plugins, {wanted("GraphExecutorFactory"), wanted("fake")});
  const Error error = unserved_error(explanation, "model.so");

  EXPECT_THAT(error.message,
              StartsWith("model.so needs 2 things: \"GraphExecutorFactory\", \"fake\", served by "
                         "no plugin\n"));
  EXPECT_THAT(error.message, HasSubstr("\n  type keys that are served: none\n"));
  EXPECT_THAT(error.message, testing::Not(HasSubstr("near name")));
}

TEST(UnservedError, ListsAllKeysReasonsNearNamesAndLocations) {
  World world;
  world.add("a", "", fake_manifest().id("test.a"));
  world.add("b", "", ManifestBuilder().id("test.b").key("opencl"));
  test::write_file(world.path() / "broken.yaml", std::string_view("schema: [\n"));
  const auto plugins = set_of(world, {}, {{"test.a", false, "GANTRY_DISABLE"}});

  const Error error = unserved_error(
      explain(*plugins, {wanted("cuda", "model.so[2]"), wanted("opencl", "model.so[1]"),
                         wanted("fake", "model.so[3]")}),
      "model.so");

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "NO_PLUGIN");
  const std::string dir = world.path().string();
  EXPECT_EQ(
      error.message,
      "model.so needs 2 things: \"cuda\", \"fake\", served by no plugin"
      "\n  \"cuda\", required by model.so[2]: no plugin offers it"
      "\n    install plugin gantry.cuda (CUDA kernels)"
      "\n  \"fake\", required by model.so[3]"
      "\n    test.a 1.0.0 is skipped, GANTRY-D410 FILTERED: disabled by GANTRY_DISABLE \"test.a\""
      "\n    plugin test.a 1.0.0 is installed: enable it"
      "\n  manifest that cannot be read: " +
          dir + "/broken.yaml is refused, GANTRY-D150 YAML_SYNTAX: " + dir +
          "/broken.yaml:2:1: YAML syntax: end of sequence flow not found"
          "\n  type keys that are served: opencl"
          "\n  searched: 1 --plugins " +
          dir +
          " (3 files); 3 GANTRY_PLUGIN_FILES (unset); 3 "
          "GANTRY_ADD_PLUGIN_FILES (unset)");
}

// The searched locations are listed even if there is no plugin at all.
TEST(UnservedError, ListsTheLocationsIfThereIsNoPlugin) {
  const World world;
  const auto plugins = set_of(world);

  const Error error = unserved_error(explain(*plugins, {wanted("cuda")}), "model.so");

  EXPECT_THAT(error.message, StartsWith("model.so needs \"cuda\", served by no plugin\n"));
  EXPECT_THAT(error.message, HasSubstr("\n  type keys that are served: none\n"));
  EXPECT_THAT(error.message,
              HasSubstr(concat("1 --plugins ", world.path().string(), " (0 files)")));
}

TEST(UnservedError, StatesWherePackagesWriteManifestsIfThereIsNone) {
  const World world;
  const auto plugins = set_of(world);
  const Explanation explanation = explain(*plugins, {wanted("cuda")});
  const std::string text =
      "no manifest is found; packages install theirs in /usr/share/gantry/plugins.d, ";

  EXPECT_THAT(unserved_error(explanation, "model.so").message, HasSubstr("\n  " + text));
  EXPECT_THAT(to_text(explanation), HasSubstr("\n" + text));

  World other;
  other.add("a", "", fake_manifest());
  EXPECT_THAT(to_text(explain(*set_of(other), {wanted("cuda")})),
              testing::Not(HasSubstr("no manifest is found")));
}

// No directory, a wrong one, and one whose plugins offer other keys.
TEST(UnservedError, ListsEachDirectoryWithItsCount) {
  World world;
  world.add("a", "", ManifestBuilder().id("test.a").key("opencl"));
  const auto searched = [&](const std::vector<std::string>& directories) {
    PluginLocations locations;
    locations.directories = directories;
    locations.exclusive = true;
    locations.host.clear();
    ChoiceOptions options;
    options.core = core_info();
    const PluginSet plugins(search_plugins(locations), options);
    return unserved_error(explain(plugins, {wanted("cuda")}), "model.so").message;
  };
  const std::string unset = "3 GANTRY_PLUGIN_FILES (unset); 3 GANTRY_ADD_PLUGIN_FILES (unset)";

  EXPECT_THAT(searched({}), HasSubstr("\n  searched: " + unset));
  EXPECT_THAT(searched({"/nowhere"}),
              testing::AllOf(HasSubstr("/nowhere is refused, GANTRY-D100 NOT_FOUND: "),
                             HasSubstr("\n  searched: 1 --plugins /nowhere (absent); " + unset)));
  EXPECT_THAT(searched({world.path().string()}),
              testing::AllOf(HasSubstr("\"cuda\", required by model.so[1]: no plugin offers it\n"),
                             HasSubstr("\n  type keys that are served: opencl\n"),
                             HasSubstr(concat("\n  searched: 1 --plugins ", world.path().string(),
                                              " (1 file); ", unset))));
}

// The variable names one manifest, which is broken; the system's directories have better ones.
class UnservedBesideAVariable : public ::testing::Test {
 protected:
  UnservedBesideAVariable() {
    test::write_file(dir / "bad.yaml", std::string_view("schema: [\n"));
    fake_manifest().id("test.npu").write_to(dir / "system/npu.yaml");
    ManifestBuilder().id("test.other").key("other").write_to(dir / "system/other.yaml");
    test::write_file(dir / "system/unreadable.yaml", std::string_view("schema: [\n"));
  }
  Explanation explained(const std::vector<Requirement>& requirements) const {
    PluginLocations locations;
    locations.plugin_files = (dir / "bad.yaml").string();
    locations.host = {{Tier::admin, (dir / "system").string()}};
    ChoiceOptions options;
    options.core = core_info();
    const PluginSet plugins(search_plugins(locations), options);
    return explain(plugins, requirements);
  }
  std::string offer() const {
    return concat("GANTRY_PLUGIN_FILES replaces tiers 4 to 8, which offer it: test.npu 1.0.0 of ",
                  (dir / "system/npu.yaml").string(),
                  "; unset the variable, or use GANTRY_ADD_PLUGIN_FILES\n");
  }
  test::TempDir dir;
};

TEST_F(UnservedBesideAVariable, StatesWhatItReplaces) {
  const Error error = unserved_error(explained({wanted("fake")}), "model.so");

  EXPECT_THAT(error.message, HasSubstr("\n    " + offer()));
  EXPECT_THAT(error.message, HasSubstr("bad.yaml is refused, GANTRY-D150 YAML_SYNTAX: "));
  EXPECT_THAT(error.message, HasSubstr(concat("\n  searched: 3 GANTRY_PLUGIN_FILES (1 file); 4 ",
                                              (dir / "system").string(),
                                              " (replaced by GANTRY_PLUGIN_FILES, 3 files: "
                                              "npu.yaml, other.yaml, unreadable.yaml)")));
}

TEST_F(UnservedBesideAVariable, IsTheSameInDoctor) {
  EXPECT_THAT(to_text(explained({wanted("fake")})), HasSubstr("\n  " + offer()));
}

TEST_F(UnservedBesideAVariable, AdvisesAnInstallationOnlyIfNothingIsReplaced) {
  const Explanation both = explained({wanted("fake"), wanted("cuda")});

  EXPECT_EQ(both.requirements[0].advice, "");
  EXPECT_THAT(both.requirements[0].replaced, testing::SizeIs(1));
  EXPECT_EQ(both.requirements[1].advice, "install plugin gantry.cuda (CUDA kernels)");
  EXPECT_THAT(both.requirements[1].replaced, testing::IsEmpty());
}

// A file may have thousands of modules of a type key.
TEST(UnservedError, NamesAtMostEightModulesThatRequireAKey) {
  const World world;
  const auto plugins = set_of(world);
  Requirement requirement = wanted("cuda", "entry 1");
  for (int i = 2; i <= 8; ++i) requirement.required_by.push_back(concat("entry ", i));
  const auto text_of = [&] {
    return unserved_error(explain(*plugins, {requirement}), "model.so").message;
  };
  EXPECT_THAT(text_of(), HasSubstr("entry 7, entry 8: no plugin offers it"));

  requirement.required_by.insert(requirement.required_by.end(), 10000, "entry 9");

  EXPECT_THAT(text_of(), HasSubstr("entry 7, entry 8 and 10000 more: no plugin offers it"));
  EXPECT_THAT(to_text(explain(*plugins, {requirement})),
              HasSubstr("entry 7, entry 8 and 10000 more; no candidate"));
}

TEST(DoctorText, HasOneLineForEachCandidate) {
  World world;
  world.add("a", "good", fake_manifest());
  world.add("b", "", fake_manifest().id("test.b").line("support: https://support.example.invalid"));
  const auto plugins = set_of(world);
  plugins->inspect_all();

  const std::string text = to_text(explain(*plugins, all_requirements(*plugins, {wanted("cuda")})));

  EXPECT_THAT(text, StartsWith("core 0.1.0  abi 1.0  schema 1.0  glibc "));
  EXPECT_THAT(text,
              HasSubstr(concat("\nsearch: 1 --plugins ", world.path().string(), " (2 files); ")));
  EXPECT_THAT(text, HasSubstr("\nkey cuda                 required by model.so[1]; no candidate\n"
                              "  advice: install plugin gantry.cuda (CUDA kernels)\n"
                              "  => loading would FAIL\n"));
  EXPECT_THAT(text, HasSubstr("\nkey fake                 not required\n"));
  EXPECT_THAT(text, HasSubstr(concat("  CHOSEN   test.fake 1.0.0          prio 0  inspected  ",
                                     world.path().string(), "/a/a.yaml\n")));
  EXPECT_THAT(text, HasSubstr("  REFUSED  test.b 1.0.0             GANTRY-D305 LIBRARY_MISSING  "));
  EXPECT_THAT(text, HasSubstr("           support: https://support.example.invalid\n"));
  EXPECT_THAT(text, HasSubstr("\ndevice fake_device          not required\n"));
}

TEST(Explain, DescribesACandidate) {
  World world;
  world.add("a", "", fake_manifest().version("1.2.3").line("priority: 5"));
  const auto plugins = set_of(world);

  const ExplainedCandidate one = explain(*plugins, {wanted("fake")}).requirements[0].candidates[0];

  EXPECT_EQ(one.tier, Tier::program);
  EXPECT_EQ(one.version, "1.2.3");
  EXPECT_EQ(one.priority, 5);
  EXPECT_EQ(one.passed, Step::preferred);
}

TEST(Explain, ListsACandidateThatAnOverrideExcludes) {
  World world;
  world.add("a", "", fake_manifest().id("test.a"));
  world.add("b", "", fake_manifest().id("test.b"));
  const auto plugins = set_of(world, {{"fake", "test.b"}});

  const Explanation explanation = explain(*plugins, {wanted("fake")});

  ASSERT_EQ(explanation.requirements[0].candidates.size(), 2u);
  const ExplainedCandidate& other = explanation.requirements[0].candidates[1];
  EXPECT_EQ(other.id, "test.a");
  EXPECT_EQ(other.verdict, Verdict::skipped);
  EXPECT_EQ(other.reason, reason::not_chosen);
  EXPECT_EQ(other.text, "the override is another plugin: test.b");
}

// The own prefix is searched before the packages' directories.
TEST(Explain, NamesTheNewestVersionThatAChosenPluginShadows) {
  const test::TempDir dir;
  fake_manifest().write_to(dir / "own/share/gantry/plugins.d/a.yaml");
  fake_manifest().version("1.5.0").write_to(dir / "packages/b.yaml");
  fake_manifest().version("1.4.0").write_to(dir / "packages/c.yaml");
  fake_manifest().version("0.9.0").write_to(dir / "packages/d.yaml");
  PluginLocations locations;
  locations.host = {{Tier::system, (dir / "packages").string()}};
  locations.core_directory = (dir / "own/lib").string();
  ChoiceOptions options;
  options.core = core_info();
  const PluginSet plugins(search_plugins(locations), options);

  const ExplainedRequirement entry = explain(plugins, {wanted("fake")}).requirements[0];

  const std::string newer = (dir / "packages/b.yaml").string();
  ASSERT_EQ(entry.candidates[0].title, "test.fake 1.0.0");
  EXPECT_EQ(entry.candidates[0].verdict, Verdict::chosen);
  EXPECT_EQ(entry.candidates[0].newer, concat("1.5.0 of ", newer));
  EXPECT_THAT(to_text(entry.candidates[0]),
              HasSubstr(concat("older than 1.5.0 of ", newer, ", which it shadows\n")));
  EXPECT_EQ(entry.candidates[1].newer, "");
}

TEST(Explain, ReportsTiesAndWarnings) {
  World world;
  world.add("a", "", fake_manifest().id("test.a"));
  world.add("b", "", fake_manifest().id("test.b"));
  const auto plugins = set_of(world, {}, {{"test.c", false, "GANTRY_DISABLE"}});

  const Explanation explanation = explain(*plugins, {wanted("fake")});

  EXPECT_THAT(explanation.requirements[0].tie, HasSubstr("test.a comes first by its id"));
  EXPECT_THAT(explanation.warnings, ElementsAre(HasSubstr("\"test.c\" matches no plugin")));
  EXPECT_THAT(to_text(explanation), HasSubstr("\nwarning: GANTRY_DISABLE: \"test.c\""));
}

TEST(Explain, AdvisesAboutAnUnknownKeyWithANearName) {
  World world;
  world.add("a", "", ManifestBuilder().key("acme_npu"));
  const auto plugins = set_of(world);

  const Explanation explanation = explain(*plugins, {wanted("acme_npv")});

  EXPECT_THAT(explanation.requirements[0].near, ElementsAre("acme_npu"));
  EXPECT_EQ(explanation.requirements[0].advice,
            "no known plugin serves it: obtain one from the producer of the artifact");
}

TEST(Explain, AdvisesToInstallAPluginBesideABrokenManifest) {
  World world;
  test::write_file(world.path() / "broken.yaml", std::string_view("schema: [\n"));
  const auto plugins = set_of(world, {{"fake", "test.absent"}});

  EXPECT_EQ(explain(*plugins, {wanted("fake")}).requirements[0].advice,
            "its override is plugin test.absent: install that plugin, or change "
            "plugins.overrides");
}

TEST(Explain, ServesAllIfWhatIsNotServedIsNotRequired) {
  const World world;
  const auto plugins = set_of(world);

  const Explanation explanation = explain(*plugins, {{"fake", false, {}}});

  EXPECT_TRUE(explanation.all_served());
  EXPECT_EQ(to_text(explanation).find("FAIL"), std::string::npos);
}

// Two directories, of which the first replaces x.yaml and masks y.yaml of the second.
TEST(Explain, DistinguishesReplacedMaskedAndDuplicateManifests) {
  const test::TempDir dir;
  const std::string library = (dir / "libfake.so").string();
  test::write_file(dir / "libfake.so", std::string_view("library"));
  fake_manifest().library(library).write_to(dir / "high/x.yaml");
  test::write_file(dir / "high/y.yaml", std::string_view(""));
  fake_manifest().write_to(dir / "low/x.yaml");
  fake_manifest().write_to(dir / "low/y.yaml");
  fake_manifest().library(library).write_to(dir / "low/z.yaml");
  PluginLocations locations;
  locations.directories = {(dir / "high").string(), (dir / "low").string()};
  locations.exclusive = true;
  locations.host.clear();
  ChoiceOptions options;
  options.core = core_info();
  const PluginSet plugins(search_plugins(locations), options);

  const Explanation explanation = explain(plugins, {wanted("fake")});

  ASSERT_EQ(explanation.unreadable.size(), 2u);
  EXPECT_EQ(explanation.unreadable[0].reason, reason::replaced_by);
  EXPECT_EQ(explanation.unreadable[0].verdict, Verdict::shadowed);
  EXPECT_EQ(explanation.unreadable[1].reason, reason::masked);
  EXPECT_EQ(explanation.unreadable[1].verdict, Verdict::skipped);
  ASSERT_EQ(explanation.requirements[0].candidates.size(), 2u);
  EXPECT_EQ(explanation.requirements[0].candidates[1].reason, reason::duplicate_of);
  EXPECT_EQ(explanation.requirements[0].candidates[1].verdict, Verdict::shadowed);
  EXPECT_THAT(to_text(explanation), HasSubstr("\nmanifests that offer nothing:\n  SHADOWED " +
                                              (dir / "low/x.yaml").string()));
}

TEST(DoctorText, HasTheFileOfEveryCandidateAndTheSupportOfRefusedOnes) {
  World world;
  world.add("a", "", fake_manifest().id("test.a").line("support: https://a.example.invalid"));
  world.add("b", "", fake_manifest().id("test.b"));
  world.add("c", "",
            fake_manifest().id("test.c").line("support: https://c.example.invalid\n"
                                              "enabled: false"));
  const auto plugins = set_of(world);

  const std::string before = to_text(explain(*plugins, {wanted("fake")}));
  plugins->inspect_all();
  const std::string after = to_text(explain(*plugins, {wanted("fake")}));

  EXPECT_THAT(before, HasSubstr("  NEXT     test.b 1.0.0             prio 0  eligible  "));
  EXPECT_EQ(before.find("FAIL"), std::string::npos);
  EXPECT_THAT(after, HasSubstr("           " + (world.path() / "b/b.yaml").string() + "\n  "));
  EXPECT_THAT(after, HasSubstr("support: https://a.example.invalid\n"));
  EXPECT_EQ(after.find("support: \n"), std::string::npos);
  EXPECT_EQ(after.find("https://c.example.invalid"), std::string::npos);
}

}  // namespace
}  // namespace gantry
