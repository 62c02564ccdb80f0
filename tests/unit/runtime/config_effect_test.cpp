// SPDX-License-Identifier: Apache-2.0
//
// The effect of every key of runtime.yaml on a runtime.
#include "tests/support/own_mounts.hpp"
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"
#include "tests/unit/runtime/variable.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/config_check.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/handle.hpp>

#include <gmock/gmock.h>

#include <sched.h>

#include <algorithm>
#include <filesystem>

namespace gantry {
namespace {

using test::digits_file;
using test::program_plugin;
using test::TempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
  static std::string server_of_graphs(const Runtime& runtime) {
    const PluginSet& plugins = *state_of(runtime.get())->plugins;
    const auto choices = plugins.choices_for_key("GraphExecutorFactory");
    return choices.empty() ? "" : plugins.candidates()[choices.front()].file;
  }
  static std::vector<std::string> names_without_plugin(const Runtime& runtime) {
    const RuntimeState& state = *state_of(runtime.get());
    return unknown_names(state.config, *state.plugins);
  }
  // Returns an option that all plugins have.
  static gantry_value option_of(const Runtime& runtime, const char* key) {
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

TEST_F(RuntimeYaml, LimitsTheMemoryOfADevice) {
  Runtime runtime = runtime_with("devices: {cpu: {memory_limit_mib: 1}}");
  const gantry_dtype byte{1, 8, 1};
  const std::int64_t half = 512 << 10;
  {
    const auto first = runtime.tensor(std::span(&half, 1), byte);
    const auto second = runtime.tensor(std::span(&half, 1), byte);
    ASSERT_TRUE(first.ok() && second.ok());
    const std::int64_t one = 1;

    const auto third = runtime.tensor(std::span(&one, 1), byte);

    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code, Code::exhausted);
    EXPECT_EQ(third.error().reason, "MEMORY_LIMIT");
    EXPECT_THAT(
        third.error().message,
        StartsWith(concat("device cpu: alloc of 1 bytes with 1.0 MiB (1048576 bytes) in use, "
                          "limit is 1.0 MiB (1048576 bytes) (devices.cpu.memory_limit_mib of ",
                          (directory / "runtime.yaml").native(), ")")));
  }
  // the memory was returned
  const std::int64_t whole = 1 << 20;
  EXPECT_TRUE(runtime.tensor(std::span(&whole, 1), byte).ok());
}

TEST_F(RuntimeYaml, ForbidsVariablesThatNamePlugins) {
  const test::Variable disable("GANTRY_DISABLE", "gantry.graph");

  Runtime runtime = runtime_with("environment: deny");

  EXPECT_TRUE(runtime.load(digits_file()).ok());
  EXPECT_THAT(lines, Contains(HasSubstr(concat("variable GANTRY_DISABLE is ignored: environment is "
                                               "deny in ",
                                               (directory / "runtime.yaml").native()))));
}

TEST_F(RuntimeYaml, DoesNotSearchTheUsersDirectory) {
  const test::Variable data("XDG_DATA_HOME", (directory / "data").string().c_str());
  copy_graph_plugin(directory / "data/gantry/plugins.d");
  // what an error may name
  std::vector<std::string> listed;
  const auto searched = [&](std::string_view text) {
    Runtime runtime = runtime_with(text);
    const auto& locations = state_of(runtime.get())->plugins->found().locations;
    const auto user = std::ranges::find(locations, (directory / "data/gantry/plugins.d").native(),
                                        &SearchLocation::name);
    EXPECT_NE(user, locations.end());
    const auto candidates = state_of(runtime.get())->plugins->candidates();
    const auto is_in_it = [&](const Candidate& one) { return one.file.starts_with(user->name); };
    EXPECT_EQ(std::ranges::any_of(candidates, is_in_it), user->state == LocationState::searched);
    listed = manifests_in(*user);
    return describe(*user);
  };

  EXPECT_THAT(searched(""), HasSubstr("(1 file)"));
  EXPECT_THAT(searched("plugins: {user: false}"),
              HasSubstr(concat("(not searched: plugins.user is false in ",
                               (directory / "runtime.yaml").native(), ")")));
  EXPECT_EQ(listed.size(), 1u);
  EXPECT_THAT(searched("plugins: {user: false}\nenvironment: deny"),
              HasSubstr("(not searched: plugins.user is false in "));
  EXPECT_THAT(listed, IsEmpty());
}

// Two plugins offer graphs; the one that comes first has no library.
TEST_F(RuntimeYaml, CountsOrForbidsFallbacks) {
  copy_graph_plugin(directory / "mine");
  const auto manifest = directory / "mine/graph/graph.yaml";
  const auto old = test::read_file(manifest);
  std::string text(old.begin(), old.end());
  text.replace(text.find("id: gantry.graph"), 16, "id: acme.graph\npriority: 5");
  std::filesystem::remove(manifest);
  test::write_file(directory / "mine/graph/acme.yaml", std::string_view(text));
  std::filesystem::remove(directory / "mine/graph/libgantry_graph.so");

  Runtime tolerant = runtime_with("plugins: {dirs: [mine]}");
  EXPECT_TRUE(tolerant.load(digits_file()).ok());
  EXPECT_EQ(tolerant.fallbacks().value(), 1);
  EXPECT_THAT(lines, Contains(HasSubstr("plugin acme.graph 0.1.0 cannot serve type key "
                                        "\"GraphExecutorFactory\", trying gantry.graph 0.1.0")));

  Runtime strict = runtime_with("plugins: {dirs: [mine], fallback: false}");
  const auto model = strict.load(digits_file());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(strict.fallbacks().value(), 0);
  EXPECT_THAT(model.error().message, HasSubstr(concat("plugins.fallback is false in ",
                                                      (directory / "runtime.yaml").native(),
                                                      ": gantry.graph 0.1.0 is not tried")));
}

TEST_F(RuntimeYaml, PlacesTheThreadsOfThePool) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) last = cpu;
  test::write_file(directory / "runtime.yaml", concat("threads: 2\ncpus: ", last, "\n"));
  EngineOptions options;
  options.config_file = (directory / "runtime.yaml").string();
  const auto state = RuntimeState::create(options).value();
  int counts[2] = {};

  ASSERT_TRUE(state->pool->try_run(
      2,
      [](void* data, std::int32_t task, std::int32_t) {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        static_cast<int*>(data)[task] = CPU_COUNT(&set);
      },
      counts));

  // The caller may run both tasks; its own CPUs are unchanged.
  EXPECT_EQ(counts[0], CPU_COUNT(&allowed));
  EXPECT_TRUE(counts[1] == 1 || counts[1] == CPU_COUNT(&allowed)) << counts[1];
}

TEST_F(RuntimeYaml, CountsTheConfiguredCpus) {
  test::write_file(directory / "runtime.yaml", "cpus: 0\n");
  EngineOptions options;
  options.config_file = (directory / "runtime.yaml").string();

  EXPECT_EQ(RuntimeState::create(options).value()->pool->size(), 1);
}

TEST_F(RuntimeYaml, SetsTheSizeOfThePool) {
  Runtime runtime = runtime_with("threads: 3");

  EXPECT_EQ(option_of(runtime, "threads").i, 3);
}

TEST_F(RuntimeYaml, SetsHowLongThreadsSpin) {
  test::write_file(directory / "runtime.yaml", "spin_us: 0");
  EngineOptions options;
  options.config_file = (directory / "runtime.yaml").string();
  EngineOptions overridden = options;
  overridden.spin_us = 70;

  EXPECT_EQ(RuntimeState::create(options).value()->pool->limits().window.count(), 0);
  EXPECT_EQ(RuntimeState::create(overridden).value()->pool->limits().window.count(), 70'000);
}

TEST_F(RuntimeYaml, DoesNotOverrideThatThreadsDoNotSpin) {
  test::write_file(directory / "runtime.yaml", "spin_us: 70");
  EngineOptions options;
  options.config_file = (directory / "runtime.yaml").string();
  options.spin_us = 0;

  EXPECT_EQ(RuntimeState::create(options).value()->pool->limits().window.count(), 0);
}

TEST_F(RuntimeYaml, SetsTheCacheDirectory) {
  Runtime runtime = runtime_with("cache: here");
  const gantry_value value = option_of(runtime, "cache_directory");

  EXPECT_EQ(value_text(value), (directory / "here").native());
}

TEST_F(RuntimeYaml, SetsNoCacheDirectoryThatOthersCanReplace) {
  std::filesystem::create_directory(directory / "here");
  std::filesystem::permissions(directory / "here", std::filesystem::perms::all);
  Runtime runtime = runtime_with("cache: here");
  const gantry_value value = option_of(runtime, "cache_directory");

  EXPECT_EQ(value_text(value), "");
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("cache directory " + (directory / "here").string() +
                                              " is not used: "),
                                    HasSubstr("set XDG_CACHE_HOME"))));
}

// As a user on a host whose configuration names /var/cache/gantry, which belongs to root.
TEST_F(RuntimeYaml, UsesTheUsersCacheWhereTheConfiguredOneIsDenied) {
  std::filesystem::create_directory(directory / "host");
  const std::string own = (directory / "own").string();
  const auto cache_with = [&](std::string_view text) {
    lines.clear();
    Runtime runtime = runtime_with(text);
    return state_of(runtime.get())->cache_directory;
  };

  test::expect_with_mount((directory / "host").string(), MS_RDONLY, [&]() -> std::string {
    for (const std::string_view text : {"cache: host", "cache: host/gantry"}) {
      const test::Variable mine("XDG_CACHE_HOME", own.c_str());
      if (const std::string used = cache_with(text); used != own + "/gantry") return used;
      if (!lines.empty()) return lines.front();
      const test::Variable none("XDG_CACHE_HOME", (directory / "host").c_str());
      if (const std::string used = cache_with(text); !used.empty()) return used;
      if (!lines.empty()) return lines.front();
    }
    const std::string used = cache_with("cache: host\nlog: info");
    const std::string line = concat("cache directory ", (directory / "host").string(),
                                    " cannot be written by this user, ");
    const auto states_it = [&](const std::string& one) { return one.starts_with(line); };
    return std::ranges::any_of(lines, states_it) ? "" : "no line states which directory is used";
  });
}

TEST_F(RuntimeYaml, DisablesTheCache) {
  Runtime runtime = runtime_with("cache: none");
  const gantry_value value = option_of(runtime, "cache_directory");

  EXPECT_EQ(value_text(value), "");
}

TEST_F(RuntimeYaml, SetsTheLogLevel) {
  Runtime silent = runtime_with("log: warning");
  ASSERT_TRUE(silent.load(digits_file()).ok());
  EXPECT_THAT(lines, IsEmpty());

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

  const std::vector<std::string> names = names_without_plugin(runtime);

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

  const std::vector<std::string> names = names_without_plugin(runtime);

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

  EXPECT_THAT(names_without_plugin(runtime), IsEmpty());
}

}  // namespace
}  // namespace gantry
