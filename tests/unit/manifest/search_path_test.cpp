// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/search_path.hpp"

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
  for (const FoundManifest& found : result.manifests) {
    all.push_back(std::filesystem::path(found.file).lexically_relative(dir.path()).string());
  }
  return all;
}

std::vector<std::string> lines(const SearchResult& result) {
  std::vector<std::string> all;
  for (const SearchPlace& place : result.places) all.push_back(describe(place));
  return all;
}

PluginPlaces nowhere() {
  PluginPlaces places;
  places.admin_directory.clear();
  return places;
}

TEST(SearchPath, TakesManifestsAndFoldersWithExactlyOneBytewise) {
  const TempDir dir;
  touch(dir / "b.yaml");
  touch(dir / "Z.yaml");
  touch(dir / "a/a.yaml");
  touch(dir / "a/liba.so");
  touch(dir / "empty/liba.so");
  touch(dir / "notes.txt");
  touch(dir / ".hidden.yaml");
  touch(dir / "c.yml");
  PluginPlaces places = nowhere();
  places.directories = {dir.path().string()};

  EXPECT_THAT(files(search_plugins(places), dir), ElementsAre("Z.yaml", "a/a.yaml", "b.yaml"));
}

TEST(SearchPath, TellsOfAFolderWithSeveralManifests) {
  const TempDir dir;
  touch(dir / "two/a.yaml");
  touch(dir / "two/b.yaml");
  PluginPlaces places = nowhere();
  places.directories = {dir.path().string()};

  const SearchResult result = search_plugins(places);

  ASSERT_EQ(result.manifests.size(), 1u);
  EXPECT_EQ(result.manifests[0].reason, reason::manifest_folder);
  EXPECT_EQ(result.manifests[0].text, "folder holds 2 manifests (a.yaml, b.yaml), expected one");
}

TEST(SearchPath, GoesThroughTheTiersInOrder) {
  const TempDir dir;
  for (const char* name : {"api", "config", "files", "admin", "core/share/gantry/plugins.d"}) {
    touch(dir / concat(name, "/x.yaml"));
  }
  touch(dir / "single.yaml");
  PluginPlaces places;
  places.manifests = {(dir / "single.yaml").string()};
  places.directories = {(dir / "api").string()};
  places.config_file = "/etc/gantry/runtime.yaml";
  places.config_directories = {(dir / "config").string()};
  places.add_plugin_files = (dir / "files").string();
  places.admin_directory = (dir / "admin").string();
  places.core_directory = (dir / "core/lib").string();

  const SearchResult result = search_plugins(places);

  EXPECT_THAT(files(result, dir),
              ElementsAre("single.yaml", "api/x.yaml", "config/x.yaml", "files/x.yaml",
                          "admin/x.yaml", "core/share/gantry/plugins.d/x.yaml"));
  std::vector<int> tiers;
  for (const SearchPlace& place : result.places) tiers.push_back(place.tier);
  EXPECT_THAT(tiers, ElementsAre(1, 1, 2, 3, 3, 4, 8));
}

TEST(SearchPath, SaysWhatEachPlaceIs) {
  const TempDir dir;
  touch(dir / "a/x.yaml");
  PluginPlaces places;
  places.directories = {(dir / "a").string()};
  places.admin_directory = (dir / "absent").string();

  EXPECT_THAT(lines(search_plugins(places)),
              ElementsAre(concat("1 --plugins ", (dir / "a").string(), " (1 file)"),
                          "3 GANTRY_PLUGIN_FILES (unset)", "3 GANTRY_ADD_PLUGIN_FILES (unset)",
                          concat("4 ", (dir / "absent").string(), " (absent)")));
}

// The variable hides the system's plugins: the message must say so, and what it hid.
TEST(SearchPath, PluginFilesReplaceTheTiersBelowAndSayWhatTheyHad) {
  const TempDir dir;
  touch(dir / "bad.yaml");
  touch(dir / "admin/x.yaml");
  touch(dir / "admin/y.yaml");
  PluginPlaces places;
  places.plugin_files = (dir / "bad.yaml").string();
  places.add_plugin_files = "/never/looked/at";
  places.admin_directory = (dir / "admin").string();

  const SearchResult result = search_plugins(places);

  EXPECT_THAT(files(result, dir), ElementsAre("bad.yaml"));
  EXPECT_THAT(lines(result), ElementsAre("3 GANTRY_PLUGIN_FILES (1 file)",
                                         concat("4 ", (dir / "admin").string(),
                                                " (not used, 2 files there: x.yaml, y.yaml)")));
}

TEST(SearchPath, TakesListsBetweenColonsAndNothingForDevNull) {
  const TempDir dir;
  touch(dir / "a.yaml");
  touch(dir / "b/c.yaml");
  touch(dir / "admin/x.yaml");
  PluginPlaces places;
  places.admin_directory = (dir / "admin").string();
  places.plugin_files = concat((dir / "a.yaml").string(), "::", (dir / "b").string(), ":");
  EXPECT_THAT(files(search_plugins(places), dir), ElementsAre("a.yaml", "b/c.yaml"));

  for (const char* none : {"", "/dev/null"}) {
    places.plugin_files = none;
    EXPECT_THAT(search_plugins(places).manifests, IsEmpty()) << none;
  }
}

TEST(SearchPath, ExclusiveStopsAfterTheProgramsOwn) {
  const TempDir dir;
  touch(dir / "a/x.yaml");
  touch(dir / "admin/y.yaml");
  PluginPlaces places;
  places.directories = {(dir / "a").string()};
  places.exclusive = true;
  places.plugin_files = (dir / "admin").string();
  places.admin_directory = (dir / "admin").string();

  EXPECT_THAT(files(search_plugins(places), dir), ElementsAre("a/x.yaml"));
}

TEST(SearchPath, KeepsWhatWasNamedAndIsNotThereAsACandidate) {
  PluginPlaces places = nowhere();
  places.manifests = {"/nowhere/x.yaml", "relative.yaml"};

  const SearchResult result = search_plugins(places);

  ASSERT_EQ(result.manifests.size(), 2u);
  EXPECT_EQ(result.manifests[0].reason, reason::not_found);
  EXPECT_EQ(result.manifests[0].text, "no such file or directory");
  EXPECT_EQ(result.manifests[1].reason, reason::library_path);
  EXPECT_THAT(result.manifests[1].text, HasSubstr("is relative, expected an absolute path"));
}

TEST(SearchPath, GivesDropInsLowestPlaceFirst) {
  const TempDir dir;
  touch(dir / "high/x.yaml.d/20-b.yaml");
  touch(dir / "high/x.yaml.d/10-a.yaml");
  touch(dir / "low/x/x.yaml");
  touch(dir / "low/x/x.yaml.d/50-c.yaml");
  touch(dir / "low/x.yaml.d/notes.txt");
  PluginPlaces places = nowhere();
  places.directories = {(dir / "high").string(), (dir / "low").string()};

  const SearchResult result = search_plugins(places);

  std::vector<std::string> names;
  for (const FoundDropIn& drop_in : result.drop_ins) {
    EXPECT_EQ(drop_in.name, "x.yaml");
    names.push_back(std::filesystem::path(drop_in.file).filename().string());
  }
  EXPECT_THAT(names, ElementsAre("50-c.yaml", "10-a.yaml", "20-b.yaml"));
  EXPECT_THAT(files(result, dir), ElementsAre("low/x/x.yaml"));
}

}  // namespace
}  // namespace gantry
