// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/search_path.hpp"

#include "core/plugins/manifest/machine_traits.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void touch(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  test::write_file(path, std::string_view("x"));
}

std::vector<std::string> files(const SearchResult& result, const TempDir& dir) {
  std::vector<std::string> all;
  for (const Candidate& found : result.candidates) {
    all.push_back(std::filesystem::path(found.file).lexically_relative(dir.path()).string());
  }
  return all;
}

std::vector<std::string> lines(const SearchResult& result) {
  std::vector<std::string> all;
  for (const SearchLocation& location : result.locations) all.push_back(describe(location));
  return all;
}

PluginLocations no_locations() {
  PluginLocations locations;
  locations.host.clear();
  return locations;
}

TEST(SearchPath, ListsManifestsAndDirectoriesWithOneManifestBytewise) {
  const TempDir dir;
  touch(dir / "b.yaml");
  touch(dir / "Z.yaml");
  touch(dir / "a/a.yaml");
  touch(dir / "a/liba.so");
  touch(dir / "empty/liba.so");
  touch(dir / "notes.txt");
  touch(dir / ".hidden.yaml");
  touch(dir / "c.yml");
  PluginLocations locations = no_locations();
  locations.directories = {dir.path().string()};

  EXPECT_THAT(files(search_plugins(locations), dir), ElementsAre("Z.yaml", "a/a.yaml", "b.yaml"));
}

TEST(SearchPath, ReportsADirectoryWithSeveralManifests) {
  const TempDir dir;
  touch(dir / "two/a.yaml");
  touch(dir / "two/b.yaml");
  PluginLocations locations = no_locations();
  locations.directories = {dir.path().string()};

  const SearchResult result = search_plugins(locations);

  ASSERT_EQ(result.candidates.size(), 1u);
  EXPECT_EQ(result.candidates[0].reason, reason::manifest_folder);
  EXPECT_EQ(result.candidates[0].text,
            "directory contains 2 manifests (a.yaml, b.yaml), expected one");
}

TEST(SearchPath, SearchesTheTiersInOrder) {
  const TempDir dir;
  for (const char* name :
       {"api", "config", "files", "admin", "core/share/gantry/plugins.d", "user", "packages"}) {
    touch(dir / concat(name, "/x.yaml"));
  }
  touch(dir / "single.yaml");
  PluginLocations locations;
  locations.manifests = {(dir / "single.yaml").string()};
  locations.directories = {(dir / "api").string()};
  locations.config_file = "/etc/gantry/runtime.yaml";
  locations.config_directories = {(dir / "config").string()};
  locations.add_plugin_files = (dir / "files").string();
  locations.host = {{Tier::admin, (dir / "admin").string()},
                    {Tier::system, (dir / "packages").string()}};
  locations.core_directory = (dir / "core/lib").string();
  locations.user_directory = (dir / "user").string();

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(
      files(result, dir),
      ElementsAre("single.yaml", "api/x.yaml", "config/x.yaml", "files/x.yaml", "admin/x.yaml",
                  "core/share/gantry/plugins.d/x.yaml", "user/x.yaml", "packages/x.yaml"));
  std::vector<std::string_view> tiers;
  for (const SearchLocation& location : result.locations) tiers.push_back(name_of(location.tier));
  EXPECT_THAT(tiers, ElementsAre("program", "program", "config", "environment", "environment",
                                 "admin", "core", "user", "system"));
}

TEST(SearchPath, HasTheSystemDirectoriesOfThePage) {
  std::vector<std::string> all;
  for (const HostDirectory& directory : PluginLocations().host)
    all.push_back(concat(number_of(directory.tier), " ", directory.path));

  EXPECT_THAT(all,
              ElementsAre("4 /etc/gantry/plugins.d", "5 /run/gantry/plugins.d",
                          "8 /usr/local/share/gantry/plugins.d", "8 /usr/share/gantry/plugins.d"));
}

TEST(SearchPath, SearchesTheUsersDirectoryAfterThatOfTheCore) {
  const TempDir dir;
  touch(dir / "user/x.yaml");
  touch(dir / "share/gantry/plugins.d/x.yaml");
  PluginLocations locations = no_locations();
  locations.core_directory = (dir / "lib").string();
  locations.user_directory = (dir / "user").string();

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(files(result, dir), ElementsAre("share/gantry/plugins.d/x.yaml", "user/x.yaml"));
  EXPECT_EQ(result.locations.back().tier, Tier::user);
}

// The core of a package is in /usr/lib, and /usr/share is a directory of the system.
TEST(SearchPath, ListsTheCoresDirectoryOnce) {
  const TempDir dir;
  touch(dir / "share/gantry/plugins.d/x.yaml");
  PluginLocations locations = no_locations();
  locations.host = {{Tier::system, (dir / "share/gantry/plugins.d").string()}};
  locations.core_directory = (dir / "lib").string();

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(files(result, dir), ElementsAre("share/gantry/plugins.d/x.yaml"));
  EXPECT_EQ(result.locations.back().tier, Tier::system);
}

TEST(SearchPath, UsesNoDirectoryOfTheCoreOrTheUserInAPrivilegedProcess) {
  const TempDir dir;
  touch(dir / "admin/a.yaml");
  touch(dir / "user/b.yaml");
  touch(dir / "share/gantry/plugins.d/c.yaml");
  touch(dir / "user/a.yaml.d/10.yaml");
  PluginLocations locations = no_locations();
  locations.host = {{Tier::admin, (dir / "admin").string()}};
  locations.core_directory = (dir / "lib").string();
  locations.user_directory = (dir / "user").string();
  locations.privileged = true;

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(files(result, dir), ElementsAre("admin/a.yaml"));
  EXPECT_THAT(result.drop_ins, IsEmpty());
  EXPECT_EQ(lines(result).back(),
            concat("7 ", (dir / "user").string(), " (not used: privileged process)"));
}

TEST(SearchPath, SkipsManifestsOfOtherArchitectures) {
  const std::string here = host_traits().arch;
  const std::string other = here == "x86_64" ? "aarch64" : "x86_64";
  const TempDir dir;
  touch(dir / concat("a.", here, ".yaml"));
  touch(dir / concat("a.", other, ".yaml"));
  touch(dir / "own" / concat("b.", here, ".yaml"));
  touch(dir / "own" / concat("b.", other, ".yaml"));
  touch(dir / "c.unknown.yaml");
  PluginLocations locations = no_locations();
  locations.directories = {dir.path().string()};

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(files(result, dir), ElementsAre(concat("a.", here, ".yaml"), "c.unknown.yaml",
                                              concat("own/b.", here, ".yaml")));
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(SearchPath, RemovesTheArchitectureFromNames) {
  const std::string here = host_traits().arch;
  const TempDir dir;
  touch(dir / concat("a.", here, ".yaml"));
  touch(dir / concat("a.", here, ".yaml.d/10.yaml"));
  touch(dir / "a.yaml.d/20.yaml");
  PluginLocations locations = no_locations();
  locations.directories = {dir.path().string()};

  const SearchResult result = search_plugins(locations);

  ASSERT_EQ(result.candidates.size(), 1u);
  EXPECT_EQ(result.candidates[0].name, "a.yaml");
  ASSERT_EQ(result.drop_ins.size(), 2u);
  EXPECT_EQ(result.drop_ins[0].name, "a.yaml");
  EXPECT_EQ(result.drop_ins[1].name, "a.yaml");
}

TEST(SearchPath, DescribesEachLocation) {
  const TempDir dir;
  touch(dir / "a/x.yaml");
  PluginLocations locations;
  locations.directories = {(dir / "a").string()};
  locations.host = {{Tier::admin, (dir / "absent").string()}};

  EXPECT_THAT(lines(search_plugins(locations)),
              ElementsAre(concat("1 --plugins ", (dir / "a").string(), " (1 file)"),
                          "3 GANTRY_PLUGIN_FILES (unset)", "3 GANTRY_ADD_PLUGIN_FILES (unset)",
                          concat("4 ", (dir / "absent").string(), " (absent)")));
}

// Messages list the manifests that the variable replaces.
TEST(SearchPath, ListsTheManifestsThatPluginFilesReplace) {
  const TempDir dir;
  touch(dir / "bad.yaml");
  touch(dir / "admin/x.yaml");
  touch(dir / "admin/y.yaml");
  PluginLocations locations;
  locations.plugin_files = (dir / "bad.yaml").string();
  locations.add_plugin_files = "/not/searched";
  locations.host = {{Tier::admin, (dir / "admin").string()}};

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(files(result, dir), ElementsAre("bad.yaml"));
  EXPECT_THAT(lines(result),
              ElementsAre("3 GANTRY_PLUGIN_FILES (1 file)",
                          concat("4 ", (dir / "admin").string(),
                                 " (replaced by GANTRY_PLUGIN_FILES, 2 files: x.yaml, y.yaml)")));
}

TEST(SearchPath, SplitsListsAtColonsAndIgnoresDevNull) {
  const TempDir dir;
  touch(dir / "a.yaml");
  touch(dir / "b/c.yaml");
  touch(dir / "admin/x.yaml");
  PluginLocations locations;
  locations.host = {{Tier::admin, (dir / "admin").string()}};
  locations.plugin_files = concat((dir / "a.yaml").string(), "::", (dir / "b").string(), ":");
  EXPECT_THAT(files(search_plugins(locations), dir), ElementsAre("a.yaml", "b/c.yaml"));

  for (const char* none : {"", "/dev/null"}) {
    locations.plugin_files = none;
    EXPECT_THAT(search_plugins(locations).candidates, IsEmpty()) << none;
  }
}

TEST(SearchPath, UsesOnlyTheProgramsLocationsInExclusiveMode) {
  const TempDir dir;
  touch(dir / "a/x.yaml");
  touch(dir / "admin/y.yaml");
  PluginLocations locations;
  locations.directories = {(dir / "a").string()};
  locations.exclusive = true;
  locations.plugin_files = (dir / "admin").string();
  locations.host = {{Tier::admin, (dir / "admin").string()}};

  EXPECT_THAT(files(search_plugins(locations), dir), ElementsAre("a/x.yaml"));
}

TEST(SearchPath, NamesNoVariableInExclusiveMode) {
  const TempDir dir;
  touch(dir / "admin/y.yaml");
  PluginLocations locations;
  locations.exclusive = true;
  locations.plugin_files = "";
  locations.host = {{Tier::admin, (dir / "admin").string()}};

  const SearchResult result = search_plugins(locations);

  EXPECT_EQ(describe(result.locations.back()),
            concat("4 ", (dir / "admin").string(), " (not used, 1 file: y.yaml)"));
  EXPECT_EQ(unused_text(result.locations.back()), "");
}

// Not even whether it exists is looked up: it is described as one that does.
TEST(SearchPath, DoesNotReadTheUsersDirectoryIfItIsExcluded) {
  const TempDir dir;
  touch(dir / "user/x.yaml");
  touch(dir / "user/b/c.yaml");
  touch(dir / "user/b/d.yaml");
  PluginLocations locations = no_locations();
  locations.user_excluded_by = "/etc/gantry/runtime.yaml";
  for (const std::string name : {"user", "nowhere"}) {
    locations.user_directory = (dir / name).string();

    const SearchResult result = search_plugins(locations);

    const SearchLocation& user = result.locations.back();
    EXPECT_EQ(user.state, LocationState::excluded);
    EXPECT_THAT(user.files, IsEmpty());
    EXPECT_THAT(result.candidates, IsEmpty());
    EXPECT_THAT(result.warnings, IsEmpty());
    EXPECT_EQ(describe(user),
              concat("7 ", locations.user_directory,
                     " (not searched: plugins.user is false in /etc/gantry/runtime.yaml)"));
  }
}

TEST(SearchPath, ListsAnExcludedDirectoryOnRequest) {
  const TempDir dir;
  touch(dir / "user/x.yaml");
  touch(dir / "user/b/c.yaml");
  PluginLocations locations = no_locations();
  locations.user_directory = (dir / "user").string();
  locations.user_excluded_by = "/etc/gantry/runtime.yaml";
  const auto listed = [&] { return manifests_in(search_plugins(locations).locations.back()); };

  EXPECT_THAT(listed(),
              ElementsAre((dir / "user/b/c.yaml").string(), (dir / "user/x.yaml").string()));
  locations.exclusive = true;
  EXPECT_EQ(unused_text(search_plugins(locations).locations.back()), "");
  EXPECT_EQ(describe(search_plugins(locations).locations.back()),
            concat("7 ", locations.user_directory, " (not searched)"));
  locations.reads_excluded = false;
  EXPECT_THAT(listed(), IsEmpty());
  locations.reads_excluded = true;
  locations.user_directory = "/nowhere";
  EXPECT_THAT(listed(), IsEmpty());
}

TEST(SearchPath, DescribesADirectoryThatDoesNotExistAsAbsent) {
  PluginLocations locations = no_locations();
  locations.directories = {"/nowhere/plugins"};

  const SearchResult result = search_plugins(locations);

  EXPECT_EQ(lines(result)[0], "1 --plugins /nowhere/plugins (absent)");
  ASSERT_EQ(result.candidates.size(), 1u);
  EXPECT_EQ(result.candidates[0].reason, reason::not_found);
}

TEST(NoManifestText, NamesTheDirectoriesOfPackages) {
  const TempDir dir;
  PluginLocations locations = no_locations();
  locations.directories = {dir.path().string()};
  EXPECT_EQ(no_manifest_text(search_plugins(locations).locations),
            "no manifest is found; packages install theirs in /usr/share/gantry/plugins.d, `gantry "
            "plugins install` in /usr/local/share/gantry/plugins.d or the user's directory, "
            "archives in share/gantry/plugins.d beside the directory of the core");

  touch(dir / "x.yaml");
  EXPECT_EQ(no_manifest_text(search_plugins(locations).locations), "");
}

TEST(SearchPath, KeepsMissingAndRelativeEntriesWithAReason) {
  PluginLocations locations = no_locations();
  locations.manifests = {"/nowhere/x.yaml", "relative.yaml"};

  const SearchResult result = search_plugins(locations);

  ASSERT_EQ(result.candidates.size(), 2u);
  EXPECT_EQ(result.candidates[0].reason, reason::not_found);
  EXPECT_EQ(result.candidates[0].text, "no such file or directory");
  EXPECT_EQ(result.candidates[1].reason, reason::library_path);
  EXPECT_THAT(result.candidates[1].text, HasSubstr("is relative, expected an absolute path"));
}

TEST(SearchPath, ListsDropInsOfTheLowestLocationFirst) {
  const TempDir dir;
  touch(dir / "high/x.yaml.d/20-b.yaml");
  touch(dir / "high/x.yaml.d/10-a.yaml");
  touch(dir / "low/x/x.yaml");
  touch(dir / "low/x/x.yaml.d/50-c.yaml");
  touch(dir / "low/x.yaml.d/notes.txt");
  PluginLocations locations = no_locations();
  locations.directories = {(dir / "high").string(), (dir / "low").string()};

  const SearchResult result = search_plugins(locations);

  std::vector<std::string> names;
  for (const FoundDropIn& drop_in : result.drop_ins) {
    EXPECT_EQ(drop_in.name, "x.yaml");
    names.push_back(std::filesystem::path(drop_in.file).filename().string());
  }
  EXPECT_THAT(names, ElementsAre("50-c.yaml", "10-a.yaml", "20-b.yaml"));
  EXPECT_THAT(files(result, dir), ElementsAre("low/x/x.yaml"));
}

TEST(SearchPath, IgnoresHiddenDirectories) {
  const TempDir dir;
  touch(dir / ".git/x.yaml");
  PluginLocations locations = no_locations();
  locations.directories = {dir.path().string()};

  EXPECT_THAT(search_plugins(locations).candidates, IsEmpty());
}

TEST(SearchPath, DistinguishesFilesAndDirectoriesOfTheSameForm) {
  const TempDir dir;
  touch(dir / "a.yaml.d");
  touch(dir / "own/own.yaml");
  touch(dir / "own/b.yaml.d");
  touch(dir / "own/sub/c.yaml");
  touch(dir / "own/sub.yaml/d.txt");
  PluginLocations locations = no_locations();
  locations.directories = {dir.path().string()};

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(files(result, dir), ElementsAre("own/own.yaml"));
  EXPECT_THAT(result.drop_ins, IsEmpty());
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(SearchPath, SearchesTheManifestsOfTheConfiguration) {
  const TempDir dir;
  touch(dir / "x.yaml");
  PluginLocations locations = no_locations();
  locations.config_file = "/etc/runtime.yaml";
  locations.config_manifests = {(dir / "x.yaml").string()};

  const SearchResult result = search_plugins(locations);

  EXPECT_THAT(files(result, dir), ElementsAre("x.yaml"));
  EXPECT_EQ(lines(result)[0], "2 plugins.manifests of /etc/runtime.yaml (1 file)");
}

TEST(SearchPath, CountsEntriesThatCannotBeUsed) {
  PluginLocations locations = no_locations();
  locations.manifests = {"/nowhere/x.yaml", "relative.yaml"};

  EXPECT_EQ(lines(search_plugins(locations))[0], "1 --plugin (2 files)");
}

TEST(SearchPath, ListsFiveManifestsThatAreReplaced) {
  for (const int count : {5, 6}) {
    const TempDir dir;
    for (int i = 0; i < count; ++i) touch(dir / concat(i, ".yaml"));
    PluginLocations locations;
    locations.plugin_files = "";
    locations.host = {{Tier::admin, dir.path().string()}};

    EXPECT_EQ(
        lines(search_plugins(locations)).back(),
        concat("4 ", dir.path().string(), " (replaced by GANTRY_PLUGIN_FILES, ", count,
               " files: 0.yaml, 1.yaml, 2.yaml, 3.yaml, 4.yaml", count == 5 ? ")" : ", ...)"));
  }
}

}  // namespace
}  // namespace gantry
