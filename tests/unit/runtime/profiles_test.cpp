// SPDX-License-Identifier: Apache-2.0
//
// Plays each profile of configs/examples on this host, with fake plugins where it names a vendor's.
#include "tests/support/schema.hpp"
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/variable.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/config_files.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/cache_directory.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::digits_file;
using test::fake_manifest;
using test::Variable;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// A copy of a profile, as it is in /etc/gantry.
class Profile : public ::testing::Test {
 protected:
  void copy(std::string_view name) {
    fs::copy(test::config("examples") / name, etc(), fs::copy_options::recursive);
  }
  fs::path etc() const { return directory_ / "etc"; }
  fs::path home() const { return directory_ / "home"; }

  RuntimeOptions options() {
    RuntimeOptions options;
    options.config_file = (etc() / "runtime.yaml").string();
    options.log_sink = [this](std::int32_t, std::string_view line) { lines_.emplace_back(line); };
    return options;
  }
  Runtime runtime() { return test::make_runtime(options()); }

  // Adds a fake plugin.
  static void add(const fs::path& directory, const test::ManifestBuilder& manifest,
                  std::string_view variant = "good") {
    fs::create_directories(directory);
    if (!variant.empty()) fs::copy_file(test::fake_library(variant), directory / "libfake.so");
    manifest.write_to(directory / "fake.yaml");
  }
  static Candidate candidate(const Runtime& runtime, std::string_view id) {
    const auto all = state_of(runtime.get())->plugins->candidates();
    const auto at = std::find_if(all.begin(), all.end(), [&](const Candidate& each) {
      return each.manifest && each.manifest->id == id;
    });
    return at == all.end() ? Candidate() : *at;
  }

  test::TempDir directory_;
  std::vector<std::string> lines_;
};

using EdgeBox = Profile;
using GpuServer = Profile;
using Laptop = Profile;

TEST_F(EdgeBox, RunsWithTheSelectedPluginsOnly) {
  copy("edge-box");
  Runtime box = runtime();

  EXPECT_TRUE(box.load(digits_file()).ok());
  EXPECT_EQ(candidate(box, "gantry.relax").reason, reason::filtered);
  EXPECT_NE(candidate(box, "gantry.opencl").reason, reason::filtered);
  EXPECT_EQ(box.threads().value(), 2);
}

TEST_F(EdgeBox, IgnoresVariablesAndTheUsersPlugins) {
  copy("edge-box");
  add(home() / "gantry/plugins.d/fake", fake_manifest());
  const Variable data("XDG_DATA_HOME", home().c_str());
  const Variable disable("GANTRY_DISABLE", "gantry.graph");
  const Variable files("GANTRY_PLUGIN_FILES", "/nowhere");
  Runtime box = runtime();

  EXPECT_TRUE(box.load(digits_file()).ok());
  EXPECT_FALSE(candidate(box, "test.fake").manifest);
  EXPECT_THAT(lines_, Contains(HasSubstr("variable GANTRY_PLUGIN_FILES is ignored")));
  EXPECT_THAT(lines_, Contains(HasSubstr("variable GANTRY_DISABLE is ignored")));
}

TEST_F(EdgeBox, LimitsMemoryAndCachesWhereItsUserMayWrite) {
  copy("edge-box");
  const Variable own("XDG_CACHE_HOME", home().c_str());
  Runtime box = runtime();
  // A user without access to it has its own.
  const std::string host = "/var/cache/gantry";
  EXPECT_EQ(state_of(box.get())->cache_directory,
            CacheDirectory(host, "").is_denied() ? (home() / "gantry").string() : host);
  const std::int64_t bytes = std::int64_t{257} << 20;

  const auto tensor = box.tensor(std::span(&bytes, 1), {1, 8, 1});

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().reason, "MEMORY_LIMIT");
}

TEST_F(GpuServer, UsesTheNamedPluginOfTwoVendors) {
  copy("gpu-server");
  add(etc() / "vendors/acme/npu",
      fake_manifest().id("acme.npu").key("cuda").device("acme_npu").set("priority", "100"));
  add(etc() / "vendors/acme/cuda", fake_manifest().id("gantry.cuda").key("cuda"));
  Runtime server = runtime();

  const PluginSet& plugins = *state_of(server.get())->plugins;
  const auto choices = plugins.choices_for_key("cuda");

  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(plugins.candidate(choices[0]).manifest->id, "gantry.cuda");
  EXPECT_TRUE(candidate(server, "acme.npu").manifest);
}

// A named plugin that is refused leaves its id to another version of it, here that of the program, and
// the key to no other plugin.
TEST_F(GpuServer, UsesAnotherVersionOfTheNamedPluginAndNoOtherPlugin) {
  copy("gpu-server");
  if (!candidate(runtime(), "gantry.cuda").manifest)
    GTEST_SKIP() << "the CUDA plugin is not built for the tests of threads";
  add(etc() / "vendors/acme/npu", fake_manifest().id("acme.npu").key("cuda"));
  add(etc() / "vendors/acme/cuda", fake_manifest().id("gantry.cuda").version("99.0.0").key("cuda"),
      "");
  Runtime server = runtime();
  PluginSet& plugins = *state_of(server.get())->plugins;

  const auto served = plugins.for_key("cuda");

  ASSERT_TRUE(served.ok()) << served.error().message;
  EXPECT_EQ((*served)->plugin->id, "gantry.cuda");
  EXPECT_NE((*served)->plugin->version.text, "99.0.0");
  EXPECT_EQ(server.fallbacks().value(), 1);
}

TEST_F(GpuServer, MergesTheVendorsDropIn) {
  copy("gpu-server");
  const Runtime server = runtime();

  const RuntimeState* const state = state_of(server.get()).get();
  ASSERT_EQ(state->config.devices.size(), 2u);
  EXPECT_EQ(state->config.devices[1].name, "acme_npu");
  EXPECT_EQ(state->config.dirs, std::vector{(etc() / "vendors/acme").string()});
  EXPECT_EQ(state->config.threads, 16);
}

TEST_F(Laptop, UsesThePluginsOfTheUser) {
  copy("laptop");
  add(home() / "gantry/plugins.d/fake", fake_manifest());
  const Variable data("XDG_DATA_HOME", home().c_str());
  Runtime laptop = runtime();

  EXPECT_TRUE(state_of(laptop.get())->plugins->for_key("fake").ok());
}

TEST_F(Laptop, TriesTheNextPluginAndReportsIt) {
  copy("laptop");
  add(home() / "gantry/plugins.d/broken", fake_manifest().id("test.broken").set("priority", "9"),
      "");
  fs::rename(home() / "gantry/plugins.d/broken/fake.yaml",
             home() / "gantry/plugins.d/broken/broken.yaml");
  add(home() / "gantry/plugins.d/fake", fake_manifest());
  const Variable data("XDG_DATA_HOME", home().c_str());
  Runtime laptop = runtime();

  EXPECT_TRUE(state_of(laptop.get())->plugins->for_key("fake").ok());

  EXPECT_EQ(laptop.fallbacks().value(), 1);
  EXPECT_THAT(lines_, Contains(AllOf(HasSubstr("plugin test.broken 1.0.0 cannot serve"),
                                     HasSubstr("trying test.fake 1.0.0"))));
}

TEST_F(Laptop, EnablesAPluginByAVariable) {
  copy("laptop");
  add(home() / "gantry/plugins.d/vulkan", fake_manifest().id("gantry.vulkan").version("99.0.0"));
  const Variable data("XDG_DATA_HOME", home().c_str());
  const auto is_filtered = [&] {
    Runtime laptop = runtime();
    return candidate(laptop, "gantry.vulkan").reason == reason::filtered;
  };

  EXPECT_TRUE(is_filtered());
  const Variable select("GANTRY_SELECT", "gantry.vulkan");
  EXPECT_FALSE(is_filtered());
}

// A profile contains no name that the core does not know, except of plugins that are not here.
TEST(Profiles, AreRead) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(test::config("examples"))) {
    if (!fs::exists(entry.path() / "runtime.yaml")) continue;
    const auto config = read_config({.file = (entry.path() / "runtime.yaml").string()});
    EXPECT_TRUE(config.ok()) << config.error().message;
    ++count;
  }
  EXPECT_EQ(count, 3u);
}

}  // namespace
}  // namespace gantry
