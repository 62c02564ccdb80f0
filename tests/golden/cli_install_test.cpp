// SPDX-License-Identifier: Apache-2.0
//
// `gantry plugins install` and `remove`.
#include "tests/golden/cli_command.hpp"
#include "tests/support/note_bytes.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr const char* model = "tvm-0.12/digits_mlp_c.so";

// A copy of the graph plugin with another version.
std::string graph_plugin(const TempDir& temp, const std::string& version) {
  const fs::path directory = temp / concat("graph-", version);
  fs::copy(built_plugins("graph"), directory);
  const auto bytes = read_file(directory / "graph.yaml");
  std::string text(bytes.begin(), bytes.end());
  const std::size_t at = text.find("version: ");
  text.replace(at, text.find('\n', at) - at, concat("version: \"", version, "\""));
  fs::remove(directory / "graph.yaml");
  write_file(directory / "graph.yaml", std::string_view(text));
  set_note(directory / "libgantry_graph.so", "gantry.graph", version);
  return directory.string();
}

struct Installed : ::testing::Test {
  Outcome gantry(std::vector<std::string> args) {
    args.insert(args.begin(), {"--plugins", store});
    return run_gantry(args);
  }
  Outcome install(const std::string& plugin) {
    return gantry({"plugins", "install", plugin, "--directory", store});
  }
  Outcome remove(const std::string& subject) {
    return gantry({"plugins", "remove", subject, "--directory", store});
  }

  TempDir temp;
  std::string store = (temp / "store").string();
};

using PluginsInstall = Installed;
using PluginsRemove = Installed;

TEST_F(PluginsInstall, AddsTheTypeKeysOfThePlugin) {
  EXPECT_EQ(gantry({"plugins", "doctor", "--artifact", model}).status, 1);

  const Outcome installed = install(built_plugins("graph"));

  ASSERT_EQ(installed.status, 0) << installed.err;
  EXPECT_EQ(installed.out,
            concat("installed gantry.graph 0.1.0 in ", store, "/gantry.graph-0.1.0\n"));
  EXPECT_EQ(gantry({"plugins", "doctor", "--artifact", model}).status, 0);
}

TEST_F(PluginsInstall, PrintsThatAnOlderVersionIsNotUsed) {
  ASSERT_EQ(install(built_plugins("graph")).status, 0);

  const Outcome older = install(graph_plugin(temp, "0.0.9"));

  ASSERT_EQ(older.status, 0) << older.err;
  EXPECT_THAT(older.out, HasSubstr("  not used: GANTRY-D120 SHADOWED_BY  "));
  EXPECT_THAT(older.out, HasSubstr("  also found: gantry.graph 0.1.0  eligible  "));
}

// The library of the newer version was changed after it was installed.
TEST_F(PluginsInstall, LeavesTheOlderVersionInUseIfTheNewerIsRefused) {
  const std::string newer = graph_plugin(temp, "9.0.0");
  const auto bytes = read_file(newer + "/graph.yaml");
  write_file(newer + "/graph.yaml", std::string(bytes.begin(), bytes.end()) + "\nsha256: \"" +
                                        std::string(64, '0') + "\"\n");
  fs::create_directories(store);
  fs::copy(built_plugins("graph"), fs::path(store) / "older", fs::copy_options::recursive);
  fs::copy(newer, fs::path(store) / "newer", fs::copy_options::recursive);

  const Outcome list = gantry({"plugins", "list"});
  const Outcome doctor = gantry({"plugins", "doctor", "--artifact", model});
  const Outcome run = gantry({"run", model});

  EXPECT_THAT(list.out, MatchesRegex("[^\n]*\n"
                                     "gantry.graph +9.0.0 +DIGEST [^\n]*\n"
                                     "gantry.graph +0.1.0 +inspected [^\n]*\n"));
  EXPECT_EQ(doctor.status, 0);
  EXPECT_THAT(doctor.out, HasSubstr("  CHOSEN   gantry.graph 0.1.0 "));
  EXPECT_THAT(doctor.out, HasSubstr("  REFUSED  gantry.graph 9.0.0 "));
  // It is loaded.
  EXPECT_THAT(run.err, HasSubstr("input \"x\" of the model is missing"));
  EXPECT_THAT(run.err, HasSubstr(concat("plugin gantry.graph 9.0.0 of ", store,
                                        "/newer/graph.yaml is refused, 0.1.0 of ", store,
                                        "/older/graph.yaml is used instead: ")));
}

TEST_F(PluginsInstall, PrintsThatADirectoryIsNotSearched) {
  const Outcome installed = run_gantry(
      {"plugins", "install", built_plugins("graph"), "--directory", (temp / "other").string()});

  ASSERT_EQ(installed.status, 0) << installed.err;
  EXPECT_THAT(installed.out, HasSubstr(concat("  not used: ", (temp / "other").string(),
                                              " is not searched; name it in plugins.dirs")));
}

// What `install` states about the user's directory, the errors of a load and of `run` state as well.
TEST_F(PluginsInstall, StatesThatTheConfigurationExcludesTheUsersDirectory) {
  const std::string config = (temp / "runtime.yaml").string(), data = (temp / "data").string();
  write_file(config, std::string_view("plugins: {user: false}\n"));
  const std::vector<std::string> environment = {concat("XDG_DATA_HOME=", data)};
  const std::string directory = data + "/gantry/plugins.d";
  // run_gantry() sets the variable.
  const std::string cause = concat("because plugins.user is false in ", config,
                                   ", and GANTRY_PLUGIN_FILES replaces tiers 4 to 8: set it to "
                                   "true and unset the variable, or name the directory");

  const Outcome installed = run_gantry(
      {"--config", config, "plugins", "install", built_plugins("graph"), "--directory", directory},
      environment);
  const Outcome doctor =
      run_gantry({"--config", config, "plugins", "doctor", "--artifact", model}, environment);
  const Outcome run = run_gantry({"--config", config, "run", model}, environment);

  ASSERT_EQ(installed.status, 0) << installed.err;
  EXPECT_THAT(installed.out,
              HasSubstr(concat("  not used: ", directory, " is not searched, ", cause)));
  const std::string found = concat("not searched: graph executor (gantry.graph 0.1.0) of ",
                                   directory, "/gantry.graph-0.1.0/graph.yaml, ", cause);
  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr(found));
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr(found));
}

TEST_F(PluginsInstall, InstallsForTheUserWithoutADirectory) {
  if (::geteuid() == 0) GTEST_SKIP() << "root installs in /usr/local";
  const Outcome installed = run_gantry({"plugins", "install", built_plugins("graph")},
                                       {concat("XDG_DATA_HOME=", (temp / "data").string())});

  ASSERT_EQ(installed.status, 0) << installed.err;
  EXPECT_TRUE(fs::exists(temp / "data/gantry/plugins.d/gantry.graph-0.1.0/graph.yaml"));
}

TEST_F(PluginsRemove, RemovesExactlyThePlugin) {
  ASSERT_EQ(install(built_plugins("graph")).status, 0);

  const Outcome removed = remove("gantry.graph");

  ASSERT_EQ(removed.status, 0) << removed.err;
  EXPECT_EQ(removed.out, concat("removed gantry.graph 0.1.0 from ", store, "\n"));
  EXPECT_TRUE(fs::is_empty(store));
  EXPECT_EQ(gantry({"plugins", "doctor", "--artifact", model}).status, 1);
}

TEST_F(PluginsRemove, RequiresAVersionIfThereAreSeveral) {
  ASSERT_EQ(install(built_plugins("graph")).status, 0);
  ASSERT_EQ(install(graph_plugin(temp, "0.0.9")).status, 0);

  const Outcome unclear = remove("gantry.graph");
  const Outcome wrong = remove("gantry.graph@7.0.0");
  const Outcome clear = remove("gantry.graph@0.0.9");

  EXPECT_EQ(unclear.status, 1);
  EXPECT_THAT(unclear.err, StartsWith("gantry: \"gantry.graph\" has several versions, name one: "
                                      "gantry.graph@0.0.9, gantry.graph@0.1.0"));
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, StartsWith("gantry: plugin \"gantry.graph@7.0.0\" not found; installed: "
                                    "gantry.graph@0.0.9, gantry.graph@0.1.0"));
  EXPECT_EQ(clear.status, 0) << clear.err;
  EXPECT_FALSE(fs::exists(temp / "store/gantry.graph-0.0.9"));
}

TEST_F(PluginsRemove, NamesTheLocationOfOtherPlugins) {
  const std::string elsewhere = built_plugins("graph");

  const Outcome removed = run_gantry(
      {"--plugins", elsewhere, "plugins", "remove", "gantry.graph", "--directory", store});

  EXPECT_EQ(removed.status, 1);
  EXPECT_EQ(removed.err,
            concat("gantry: plugin \"gantry.graph\" of \"", store,
                   "\" not found; plugins: none\n  found at ", elsewhere,
                   "/graph.yaml: remove the package or directory that it belongs to\n"));
}

}  // namespace
}  // namespace gantry::test
