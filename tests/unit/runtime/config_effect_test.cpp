// SPDX-License-Identifier: Apache-2.0
//
// The effect of every key of runtime.yaml on a runtime.
#include "tests/unit/plugin/world.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include "core/runtime/installed_plugins.hpp"
#include "core/runtime/state.hpp"

#include <gantry/handle.hpp>

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry {
namespace {

using test::digits_file;
using test::program_plugin;
using test::TempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RuntimeYaml : public ::testing::Test {
 protected:
  RuntimeYaml() { program_plugin() = {}; }

  Runtime runtime_with(std::string_view text) {
    test::write_file(directory / "runtime.yaml", text);
    RuntimeOptions options;
    options.config_file = (directory / "runtime.yaml").string();
    options.log_sink = [this](std::int32_t, std::string_view line) { lines.emplace_back(line); };
    return test::make_runtime(std::move(options));
  }
  // A copy of the graph plugin in another directory.
  void copy_graph_plugin(const std::filesystem::path& to) {
    std::filesystem::create_directories(to);
    std::filesystem::copy(test::built_plugins("graph"), to / "graph");
  }
  // Returns the manifest of the plugin that serves graphs.
  static std::string server_of_graphs(Runtime& runtime) {
    const PluginSet& plugins = InstalledPlugins(runtime).set();
    const auto choices = plugins.choices_for_key("GraphExecutorFactory");
    return choices.empty() ? "" : plugins.candidates()[choices.front().candidate].file;
  }
  // Returns an option that all plugins have.
  static gantry_value option_of(Runtime& runtime, const char* key) {
    EXPECT_TRUE(runtime.add_plugin(test::query_program_plugin).ok());
    EXPECT_TRUE(runtime.device("test_npu").ok());
    gantry_value value{};
    const gantry_host* host = program_plugin().host;
    EXPECT_EQ(host->config_get(host, gantry_text(key), &value, nullptr), GANTRY_OK) << key;
    return value;
  }

  TempDir directory;
  std::vector<std::string> lines;
};

TEST_F(RuntimeYaml, DisablesPlugins) {
  Runtime runtime = runtime_with("plugins: {disable: ['gantry.*']}");

  const auto model = runtime.load(digits_file());

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().reason, "NO_PLUGIN");
  EXPECT_THAT(model.error().message, HasSubstr("disable"));
}

TEST_F(RuntimeYaml, SelectsPluginsThatAreDisabledByAGlob) {
  Runtime runtime = runtime_with("plugins: {disable: ['gantry.*'], select: [gantry.graph]}");

  EXPECT_TRUE(runtime.load(digits_file()).ok());
}

TEST_F(RuntimeYaml, OverridesThePluginOfAKey) {
  Runtime runtime = runtime_with("plugins: {overrides: {GraphExecutorFactory: acme.graph}}");

  const auto model = runtime.load(digits_file());

  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message, HasSubstr("acme.graph"));
}

TEST_F(RuntimeYaml, SearchesItsDirectoriesFirst) {
  copy_graph_plugin(directory / "mine");
  Runtime runtime = runtime_with("plugins: {dirs: [mine]}");

  EXPECT_THAT(server_of_graphs(runtime), StartsWith((directory / "mine").native()));
  EXPECT_TRUE(runtime.load(digits_file()).ok());
}

TEST_F(RuntimeYaml, PrefersItsManifestsToItsDirectories) {
  copy_graph_plugin(directory / "one");
  copy_graph_plugin(directory / "two");
  Runtime runtime = runtime_with("plugins: {manifests: [one/graph/graph.yaml], dirs: [two]}");

  EXPECT_THAT(server_of_graphs(runtime), StartsWith((directory / "one").native()));
}

// A plugin whose manifest declares the option and rejects other values.
TEST_F(RuntimeYaml, PassesOptionsToAPlugin) {
  copy_graph_plugin(directory / "mine");
  const auto manifest = directory / "mine/graph/graph.yaml";
  const auto old = test::read_file(manifest);
  test::write_file(manifest, std::string(old.begin(), old.end()) +
                                 "config_schema: {level: {type: int, min: 0, max: 9}}\n");
  Runtime runtime =
      runtime_with("plugins: {dirs: [mine]}\nbackends: {gantry.graph: {config: {level: 12}}}");

  const auto model = runtime.load(digits_file());

  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message, AllOf(HasSubstr("level"), HasSubstr("12")));
}

TEST_F(RuntimeYaml, SetsTheSizeOfThePool) {
  Runtime runtime = runtime_with("threads: 3");

  EXPECT_EQ(option_of(runtime, "threads").i, 3);
}

TEST_F(RuntimeYaml, SetsHowLongThreadsSpin) {
  test::write_file(directory / "runtime.yaml", "spin_us: 0");
  RuntimeOptions options;
  options.config_file = (directory / "runtime.yaml").string();
  RuntimeOptions overridden = options;
  overridden.spin_us = 70;

  EXPECT_EQ(RuntimeState::create(options).value()->pool.limits().window.count(), 0);
  EXPECT_EQ(RuntimeState::create(overridden).value()->pool.limits().window.count(), 70'000);
}

TEST_F(RuntimeYaml, DoesNotOverrideThatThreadsDoNotSpin) {
  test::write_file(directory / "runtime.yaml", "spin_us: 70");
  RuntimeOptions options;
  options.config_file = (directory / "runtime.yaml").string();
  options.spin_us = 0;

  EXPECT_EQ(RuntimeState::create(options).value()->pool.limits().window.count(), 0);
}

TEST_F(RuntimeYaml, SetsTheCacheDirectory) {
  Runtime runtime = runtime_with("cache: here");
  const gantry_value value = option_of(runtime, "cache_directory");

  EXPECT_EQ(value_text(value), (directory / "here").native());
}

TEST_F(RuntimeYaml, DisablesTheCache) {
  Runtime runtime = runtime_with("cache: none");
  const gantry_value value = option_of(runtime, "cache_directory");

  EXPECT_EQ(value_text(value), "");
}

TEST_F(RuntimeYaml, SetsTheLogLevel) {
  Runtime silent = runtime_with("log: warning");
  ASSERT_TRUE(silent.load(digits_file()).ok());
  EXPECT_THAT(lines, ::testing::IsEmpty());

  Runtime telling = runtime_with("log: info");
  ASSERT_TRUE(telling.load(digits_file()).ok());
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("loaded "), HasSubstr("digits_mlp_llvm.so"))));
}

// Not an error, because a program may add the plugin later.
TEST_F(RuntimeYaml, ReportsUnknownNames) {
  Runtime runtime = runtime_with(
      "plugins:\n"
      "  manifests: [none.yaml]\n"
      "  dirs: [none]\n"
      "  overrides: {GraphExecutorFcatory: gantry.graph, GraphRuntimeFactory: gantry.grahp}\n"
      "backends: {acme.npu: {config: {}}}\n");

  const std::vector<std::string> names = InstalledPlugins(runtime).unknown_names();

  const std::string file = (directory / "runtime.yaml").string();
  EXPECT_THAT(
      names,
      ::testing::ElementsAre(
          file + ": plugins.overrides.GraphExecutorFcatory: no installed plugin offers "
                 "\"GraphExecutorFcatory\", did you mean \"GraphExecutorFactory\"",
          file + ": plugins.overrides.GraphRuntimeFactory: no installed plugin has the id "
                 "\"gantry.grahp\", "
                 "did you mean \"gantry.graph\"",
          file + ": backends: no installed plugin has the id \"acme.npu\"",
          file + ": plugins.manifests: \"" + (directory / "none.yaml").string() +
              "\" is not a file",
          file + ": plugins.dirs: \"" + (directory / "none").string() + "\" is not a directory"));
}

TEST_F(RuntimeYaml, ReportsUnknownNamesOfDevices) {
  test::World world;
  world.add("fake", "good");
  Runtime runtime =
      runtime_with(concat("plugins: {dirs: [", world.path().string(),
                          "], overrides: {fake_device: test.fake, fake_devcie: test.fake}}"));

  const std::vector<std::string> names = InstalledPlugins(runtime).unknown_names();

  EXPECT_THAT(names,
              ::testing::ElementsAre((directory / "runtime.yaml").string() +
                                     ": plugins.overrides.fake_devcie: no installed plugin offers "
                                     "\"fake_devcie\", did you mean \"fake_device\""));
}

TEST_F(RuntimeYaml, ReportsNoKnownNames) {
  copy_graph_plugin(directory / "mine");
  Runtime runtime = runtime_with(
      "plugins: {dirs: [mine], overrides: {GraphExecutorFactory: gantry.graph}}\n"
      "backends: {gantry.graph: {config: {}}}\n");

  EXPECT_THAT(InstalledPlugins(runtime).unknown_names(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace gantry
