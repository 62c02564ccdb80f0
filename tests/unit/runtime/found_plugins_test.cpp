// SPDX-License-Identifier: Apache-2.0
//
// Which plugins a runtime finds and uses by its options and its environment, and what it logs.
#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/choice/serving_plugins.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/variable.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry {
namespace {

using test::Variable;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FoundPlugins : public ::testing::Test {
 protected:
  // Returns the id of the plugin for the type key "fake".
  std::optional<std::string> server(RuntimeOptions options = {}) {
    options.log_sink = [this](std::int32_t level, std::string_view line) {
      lines.push_back(concat(level, ' ', line));
    };
    const Runtime runtime = Runtime::create(options).value();
    return ServingPlugins(*state_of(runtime.get())->plugins).id_for("fake");
  }
  RuntimeOptions in_directory() const {
    RuntimeOptions options;
    options.plugin_paths = {world.path().string()};
    options.only_these_plugins = true;
    return options;
  }

  test::World world;
  const std::string manifest = world.add("fake", "good");
  std::vector<std::string> lines;
};

TEST_F(FoundPlugins, AreNamedByVariables) {
  for (const char* name : {"GANTRY_PLUGIN_FILES", "GANTRY_ADD_PLUGIN_FILES"}) {
    EXPECT_EQ(server(), std::nullopt);

    const Variable files(name, manifest.c_str());

    EXPECT_EQ(server(), "test.fake") << name;
  }
}

TEST_F(FoundPlugins, AreNamedByTheProgram) {
  RuntimeOptions options;
  options.only_these_plugins = true;
  options.plugin_paths = {std::filesystem::relative(manifest).string()};

  EXPECT_EQ(server(options), "test.fake");
}

TEST_F(FoundPlugins, AreDisabledAndSelectedByVariables) {
  const Variable disable("GANTRY_DISABLE", "test.*");
  EXPECT_EQ(server(in_directory()), std::nullopt);

  const Variable select("GANTRY_SELECT", "test.fake");
  EXPECT_EQ(server(in_directory()), "test.fake");
}

TEST_F(FoundPlugins, DoNotDependOnVariablesInAnElevatedProcess) {
  const Variable secure("GANTRY_SECURE", "1"), disable("GANTRY_DISABLE", "test.*");

  EXPECT_EQ(server(in_directory()), "test.fake");
  EXPECT_THAT(lines,
              Contains("1 GANTRY-D255 ENVIRONMENT_IGNORED: variable GANTRY_DISABLE is ignored: "
                       "this process is elevated"));
}

TEST_F(FoundPlugins, OfAConfigurationAreReportedWithItsFile) {
  test::write_file(world.path() / "runtime.yaml", "plugins: {manifests: [none.yaml]}");
  RuntimeOptions options;
  options.config_file = (world.path() / "runtime.yaml").string();
  const Runtime runtime = Runtime::create(options).value();

  const std::vector<SearchLocation> all = state_of(runtime.get())->plugins->found().locations;

  EXPECT_THAT(all, Contains(::testing::Field(
                       &SearchLocation::name,
                       "plugins.manifests of " + (world.path() / "runtime.yaml").string())));
}

TEST_F(FoundPlugins, LogWhichOneIsInUse) {
  RuntimeOptions options = in_directory();
  options.log_level = "info";
  options.log_sink = [this](std::int32_t level, std::string_view line) {
    lines.push_back(concat(level, ' ', line));
  };
  Runtime runtime = Runtime::create(options).value();
  lines.clear();

  ASSERT_TRUE(runtime.device("fake_device").ok());

  EXPECT_THAT(lines,
              ElementsAre("2 plugin test.fake 1.0.0 is in use, " + world.library("fake").string()));
}

TEST_F(FoundPlugins, LogThatOneIsReplacedByTheNext) {
  world.add("second", "create_fails",
            test::fake_manifest().id("test.second").version("2.0.0").line("priority: 5"));
  RuntimeOptions options = in_directory();
  options.log_sink = [this](std::int32_t level, std::string_view line) {
    lines.push_back(concat(level, ' ', line));
  };
  Runtime runtime = Runtime::create(options).value();
  lines.clear();

  ASSERT_TRUE(runtime.device("fake_device").ok());

  EXPECT_THAT(lines, ElementsAre(StartsWith("1 plugin test.second 2.0.0 cannot serve device "
                                            "\"fake_device\", trying test.fake 1.0.0: ")));
}

TEST_F(FoundPlugins, AreNamedBesideTheirDevices) {
  world.add("second", "create_fails",
            test::fake_manifest().id("test.second").version("2.0.0").line("priority: 5"));
  RuntimeOptions options = in_directory();
  options.log_level = "error";
  Runtime runtime = Runtime::create(options).value();

  const std::vector<DeviceInfo> devices = runtime.devices()->devices;

  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].plugin, "");
  EXPECT_EQ(devices[1].plugin, "test.fake");
}

// A second runtime uses a copy of the code.
TEST(Load, LogsThatItsFileIsAlreadyOpen) {
  std::vector<std::string> lines;
  Runtime first = test::make_runtime();
  RuntimeOptions options;
  options.log_level = "debug";
  options.log_sink = [&](std::int32_t, std::string_view line) { lines.emplace_back(line); };
  Runtime second = test::make_runtime(std::move(options));
  const Module ours = first.load(test::digits_file()).value();

  const Module theirs = second.load(test::digits_file()).value();

  EXPECT_THAT(lines, Contains(HasSubstr("is already open in this process")));
}

TEST(Load, LogsTheWarningsOfAContainer) {
  std::vector<std::string> lines;
  RuntimeOptions options;
  options.log_level = "info";
  options.log_sink = [&](std::int32_t, std::string_view line) { lines.emplace_back(line); };
  Runtime runtime = test::make_runtime(std::move(options));
  const test::Words content =
      test::Words().u64(2).str("a").u64(0).str("_import_tree").u64s({0, 0}).u64s({});
  const test::Words container = test::Words().u64(content.size()).bytes(content.bytes());
  const test::TempDir directory;
  test::write_file(directory / "a.so",
                   test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());

  (void)runtime.load((directory / "a.so").string(), {.allow_missing = true});

  EXPECT_THAT(lines, Contains("a.so: container has no _lib entry, so it has no CPU code"));
}

// The manifests of the build tree, which are older than two seconds.
class ParsedManifests : public ::testing::Test {
 protected:
  // Returns the candidates of a runtime with a cache.
  std::vector<std::string> candidates(std::string_view cache) const {
    test::write_file(dir / "runtime.yaml", concat("cache: ", cache, "\n"));
    RuntimeOptions options;
    options.config_file = (dir / "runtime.yaml").string();
    options.plugin_paths = {(test::build_tree() / "share/gantry/plugins.d").string()};
    options.only_these_plugins = true;
    const Runtime runtime = Runtime::create(options).value();
    std::vector<std::string> all;
    for (const Candidate& each : state_of(runtime.get())->plugins->candidates())
      all.push_back(concat(each.title(), " ", each.reason.number, " ", each.text));
    return all;
  }
  std::size_t cached_files() const {
    std::error_code absent;
    const std::filesystem::directory_iterator files(dir / "cache/manifests", absent);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  const test::TempDir dir;
};

TEST_F(ParsedManifests, AreKeptInTheCacheDirectory) {
  const std::string cache = (dir / "cache").string();
  const std::vector<std::string> parsed = candidates(cache);

  EXPECT_EQ(cached_files(), 1u);
  EXPECT_EQ(candidates(cache), parsed);
  EXPECT_EQ(cached_files(), 1u);
}

TEST_F(ParsedManifests, AreNotKeptWithoutACache) {
  EXPECT_FALSE(candidates("none").empty());
  EXPECT_EQ(cached_files(), 0u);
}

TEST_F(ParsedManifests, AreNotKeptInAnElevatedProcess) {
  const Variable secure("GANTRY_SECURE", "1");

  EXPECT_FALSE(candidates((dir / "cache").string()).empty());
  EXPECT_EQ(cached_files(), 0u);
}

}  // namespace
}  // namespace gantry
