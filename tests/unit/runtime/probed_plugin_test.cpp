// SPDX-License-Identifier: Apache-2.0
//
// A runtime with plugins that would end or block this process. They are opened by the gantry-probe
// of this build, which the runtime finds beside its own directory.
#include "tests/unit/library/world.hpp"

#include <gantry/embed.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::fake_manifest;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ProbedPlugin : public ::testing::Test {
 protected:
  void add(std::string_view variant, std::string_view probe = "auto") {
    world.add("fake", variant, fake_manifest().set("probe", probe).set("probe_timeout_ms", "200"));
  }
  void use_cache(const std::string& cache) {
    test::write_file(temp / "runtime.yaml", concat("cache: ", cache, "\n"));
  }
  void SetUp() override { use_cache("none"); }
  Runtime runtime() {
    RuntimeOptions options;
    options.config_file = config_file;
    options.plugin_paths = {world.path().string()};
    options.probe = probe;
    options.only_these_plugins = true;
    options.log_level = "info";
    options.log_sink = [this](std::int32_t, std::string_view line) { lines.emplace_back(line); };
    return Runtime::create(options).value();
  }

  test::World world;
  test::TempDir temp;
  std::string config_file = (temp / "runtime.yaml").string();
  std::vector<std::string> lines;
  bool probe = true;
};

class ProbedPluginThat : public ProbedPlugin,
                         public ::testing::WithParamInterface<std::pair<std::string, std::string>> {
};

TEST_P(ProbedPluginThat, DoesHarmIsAnErrorOfTheRuntime) {
  add(GetParam().first);
  Runtime host = runtime();

  const auto device = host.device("fake_device");

  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, Code::unavailable);
  EXPECT_THAT(device.error().message.text(), HasSubstr(GetParam().second));
  EXPECT_THAT(device.error().message.text(), EndsWith("\n  devices that are served: cpu"));
}

INSTANTIATE_TEST_SUITE_P(
    All, ProbedPluginThat,
    ::testing::Values(std::pair("constructor_crashes", "GANTRY-D510 PROBE_CRASHED"),
                      std::pair("constructor_sigill", "by signal 4 (Illegal instruction)"),
                      std::pair("constructor_exits", "GANTRY-D511 PROBE_EXITED"),
                      std::pair("constructor_throws", "GANTRY-D512 PROBE_ABORTED"),
                      std::pair("constructor_hangs", "GANTRY-D520 PROBE_TIMEOUT"),
                      std::pair("constructor_deadlocks", "fake: waiting for another thread"),
                      std::pair("query_crashes", "(stage query)"),
                      std::pair("create_exits", "(stage create)"),
                      std::pair("create_prints", "GANTRY-D521 PROBE_OUTPUT"),
                      std::pair("count_aborts", "(stage enumerate)")),
    [](const auto& test) { return test.param.first; });

// Harmful plugins come first by their priority.
class ProbedPluginBesideAGoodOne : public ProbedPlugin,
                                   public ::testing::WithParamInterface<std::string> {};

TEST_P(ProbedPluginBesideAGoodOne, IsReplacedByItWithALineAndACount) {
  world.add("bad", GetParam(), fake_manifest().line("priority: 5\nprobe: auto"));
  world.add("good", "second",
            fake_manifest().id("test.second").version("2.0.0").line("probe: auto"));
  Runtime host = runtime();

  const auto device = host.device("fake_device");

  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(host.fallbacks().value(), 1);
  EXPECT_THAT(lines, ::testing::Contains(::testing::AllOf(
                         HasSubstr("plugin test.fake 1.0.0 cannot serve device \"fake_device\", "
                                   "trying test.second 2.0.0: plugin test.fake 1.0.0 crashes by "
                                   "signal 11 (Segmentation fault) at address "),
                         HasSubstr("(stage "))));
}

INSTANTIATE_TEST_SUITE_P(All, ProbedPluginBesideAGoodOne,
                         ::testing::Values("query_returns_junk", "create_crashes"),
                         [](const auto& test) { return test.param; });

TEST_F(ProbedPlugin, IsUsedIfItPasses) {
  add("good", "always");
  Runtime host = runtime();

  EXPECT_TRUE(host.device("fake_device").ok());

  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("plugin test.fake 1.0.0 was probed in ")));
}

TEST_F(ProbedPlugin, IsNotProbedAgainByAnotherRuntime) {
  add("good");
  use_cache((temp / "cache").string());
  ASSERT_TRUE(runtime().device("fake_device").ok());
  lines.clear();

  ASSERT_TRUE(runtime().device("fake_device").ok());

  EXPECT_THAT(lines, ::testing::Not(::testing::Contains(HasSubstr(" was probed in "))));
}

// A plugin that crashes if the drop-in of the configuration sets its level to 9.
class ProbedPluginWithALevel : public ProbedPlugin {
 protected:
  void SetUp() override {
    add("create_crashes_by_level");
    use_cache((temp / "cache").string());
    std::filesystem::create_directory(temp / "runtime.yaml.d");
  }
  void set_level(int level) {
    test::write_file(temp / "runtime.yaml.d/10.yaml",
                     concat("backends: {test.fake: {config: {level: ", level, "}}}\n"));
  }
};

TEST_F(ProbedPluginWithALevel, IsProbedAgainWhenTheOptionThatCrashesItIsCorrected) {
  set_level(9);
  const auto crashed = runtime().device("fake_device");
  set_level(1);

  const auto corrected = runtime().device("fake_device");

  ASSERT_FALSE(crashed.ok());
  EXPECT_THAT(crashed.error().message.text(), HasSubstr("GANTRY-D510 PROBE_CRASHED"));
  EXPECT_TRUE(corrected.ok()) << corrected.error().message;
}

TEST_F(ProbedPluginWithALevel, IsProbedAgainWhenAnOptionIsSet) {
  ASSERT_TRUE(runtime().device("fake_device").ok());
  set_level(9);

  const auto device = runtime().device("fake_device");

  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().message.text(), HasSubstr("GANTRY-D510 PROBE_CRASHED"));
}

TEST_F(ProbedPluginWithALevel, IsNotProbedAgainWhenTheConfigurationOfAnotherPluginChanges) {
  ASSERT_TRUE(runtime().device("fake_device").ok());
  test::write_file(temp / "runtime.yaml.d/20.yaml",
                   std::string_view("backends: {test.other: {config: {level: 9}}}\n"));
  lines.clear();

  ASSERT_TRUE(runtime().device("fake_device").ok());

  EXPECT_THAT(lines, ::testing::Not(::testing::Contains(HasSubstr(" was probed in "))));
}

TEST_F(ProbedPluginWithALevel, IsNotUsedByAProcessThatHasAnOlderConfiguration) {
  set_level(9);
  Runtime host = runtime();
  set_level(1);

  const auto device = host.device("fake_device");

  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().message.text(), HasSubstr("GANTRY-D541 PROBE_FAILED"));
}

TEST_F(ProbedPlugin, IsProbedAfterTheProgramHasChangedItsDirectory) {
  add("good", "always");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(temp.path());
  config_file = "runtime.yaml";
  Runtime host = runtime();
  std::filesystem::current_path(before);

  const auto device = host.device("fake_device");

  EXPECT_TRUE(device.ok()) << device.error().message;
}

// The paths in the two errors differ: gantry-probe has the absolute one.
TEST_F(ProbedPlugin, IsRefusedForAnOptionThatItDoesNotHave) {
  world.add("fake", "good",
            fake_manifest().set("probe", "always").set("config_schema", "{level: {type: int}}"));
  test::write_file(temp / "runtime.yaml",
                   std::string_view("cache: none\nbackends: {test.fake: {config: {lever: 1}}}\n"));
  config_file = std::filesystem::relative(temp / "runtime.yaml").string();
  Runtime host = runtime();

  const auto device = host.device("fake_device");

  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().message.text(), HasSubstr("GANTRY-D166 CONFIG_KEY"));
}

TEST_F(ProbedPlugin, IsOpenedAtOnceIfTheProgramStatesIt) {
  add("good", "always");
  probe = false;
  Runtime host = runtime();

  EXPECT_TRUE(host.device("fake_device").ok());

  EXPECT_THAT(lines, ::testing::Not(::testing::Contains(HasSubstr(" was probed in "))));
}

TEST_F(ProbedPlugin, HasItsDropInsInTheProbe) {
  add("good", "never");
  std::filesystem::create_directory(world.path() / "fake.yaml.d");
  test::write_file(world.path() / "fake.yaml.d/10.yaml", std::string_view("probe: always\n"));
  Runtime host = runtime();

  EXPECT_TRUE(host.device("fake_device").ok());

  EXPECT_THAT(lines, ::testing::Contains(HasSubstr(" was probed in ")));
}

TEST_F(ProbedPlugin, IsOpenedAtOnceIfItsManifestExemptsIt) {
  add("good", "never");
  Runtime host = runtime();

  EXPECT_TRUE(host.device("fake_device").ok());

  EXPECT_THAT(lines, ::testing::Not(::testing::Contains(HasSubstr(" was probed in "))));
}

}  // namespace
}  // namespace gantry
