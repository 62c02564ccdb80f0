// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/explain.hpp"

#include "core/formats/type_key.hpp"
#include "tests/support/files.hpp"
#include "tests/support/replaced_all.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::core_info;
using test::fake_manifest;
using test::replaced_all;
using test::World;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<PluginSet> set_of(const World& world) {
  ChoiceOptions options;
  options.core = core_info();
  return std::make_unique<PluginSet>(world.search(), options);
}

Requirement wanted(std::string key, std::string by = "model.so[1]") {
  return {std::move(key), false, {std::move(by)}};
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
  EXPECT_THAT(text, HasSubstr(concat("\nsearched:\n  1 --plugins ", world.path().string(),
                                     " (2 files)\n")));
  EXPECT_THAT(text, HasSubstr("\nkey cuda                 required by model.so[1]; no candidate\n"
                              "  advice: install plugin gantry.cuda (CUDA kernels): Debian package "
                              "gantry-plugin-cuda; in Python, pip install gantry-runtime-cuda\n"
                              "  => loading would FAIL\n"));
  EXPECT_THAT(text, HasSubstr("\nkey fake                 not required\n"));
  EXPECT_THAT(text, HasSubstr(concat("  CHOSEN   test.fake 1.0.0          prio 0  inspected  ",
                                     world.path().string(), "/a/a.yaml\n")));
  EXPECT_THAT(text, HasSubstr("  REFUSED  test.b 1.0.0             GANTRY-D305 LIBRARY_MISSING  "));
  EXPECT_THAT(text, HasSubstr("           support: https://support.example.invalid\n"));
  EXPECT_THAT(text, HasSubstr("\ndevice fake_device          not required\n"));
}

std::string text_of(const std::string& file) {
  const auto bytes = test::read_file(concat(GANTRY_SOURCE_DIR "/", file));
  return {bytes.begin(), bytes.end()};
}

// The package contains the plugin, and the distribution exists.
TEST(Explain, AdvisesPackagesThatContainThePlugin) {
  const World world;
  const auto plugins = set_of(world);
  for (const TypeKey& key : type_keys()) {
    if (key.plugin.empty()) continue;
    SCOPED_TRACE(key.key);
    const std::string advice =
        explain(*plugins, {wanted(std::string(key.key))}).requirements[0].advice;
    const std::string name = replaced_all(std::string(key.plugin.substr(7)), "-", "_");
    const auto after = [&](std::string_view words) {
      const std::size_t at = advice.find(words);
      return at == std::string::npos
                 ? ""
                 : advice.substr(at + words.size(), advice.find(';', at) - at - words.size());
    };

    const std::string package = after("Debian package "), wheel = after("pip install ");

    ASSERT_NE(package, "") << advice;
    const std::string components = text_of(concat("tools/package/debian/", package));
    EXPECT_THAT(replaced_all(components.substr(0, components.find('\n')) + " ", "-", "_"),
                HasSubstr(concat("system_", name, " ")));
    EXPECT_EQ(wheel.empty(), key.plugin == "gantry.dnnl") << advice;
    if (wheel.empty()) continue;
    const bool is_core = wheel == "gantry-runtime";
    EXPECT_THAT(text_of(is_core ? "pyproject.toml" : concat("plugins/", name, "/pyproject.toml")),
                HasSubstr(concat("\nname = \"", wheel, "\"\n")));
  }
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

TEST(Explain, ServesAllIfWhatIsNotServedIsNotRequired) {
  const World world;
  const auto plugins = set_of(world);

  const Explanation explanation = explain(*plugins, {{"fake", false, {}}});

  EXPECT_TRUE(explanation.all_served());
  EXPECT_EQ(to_text(explanation).find("FAIL"), std::string::npos);
}

}  // namespace
}  // namespace gantry
