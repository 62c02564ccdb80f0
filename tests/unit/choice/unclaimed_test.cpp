// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/unclaimed.hpp"

#include "core/plugins/choice/steps.hpp"
#include "core/plugins/manifest/machine_traits.hpp"
#include "tests/support/note_bytes.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::bytes_of;
using test::note_record;
using test::World;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> unclaimed_in(const World& world) {
  SearchResult found = world.search();
  const std::vector<Candidate> candidates = discover(found, {}).candidates;
  std::vector<std::string> all;
  for (const UnclaimedLibrary& one : unclaimed_libraries(found.locations, candidates, {})) {
    all.push_back(concat(std::filesystem::relative(one.path, world.path()).string(), ": ", one.id,
                         " ", one.version));
  }
  return all;
}

std::vector<std::uint8_t> library_of(std::string_view id) {
  return test::plugin_elf(bytes_of(note_record(id))).build();
}

std::string_view other_machine() { return host_traits().arch == "aarch64" ? "x86_64" : "aarch64"; }

TEST(UnclaimedLibraries, AreThoseWithANoteAndWithoutAManifest) {
  World world;
  world.add("claimed", "good");
  std::filesystem::create_directories(world.path() / "left");
  test::write_file(world.path() / "left/libacme.so.1.2", library_of("acme.npu"));
  test::write_file(world.path() / "libtop.so", library_of("acme.top"));
  // not a plugin, not a library
  test::write_file(world.path() / "left/libhelper.so", test::ElfBuilder().build());
  test::write_file(world.path() / "left/notes.so", std::string_view("text"));

  EXPECT_THAT(unclaimed_in(world),
              ElementsAre("left/libacme.so.1.2: acme.npu 1.0.0", "libtop.so: acme.top 1.0.0"));
}

TEST(UnclaimedLibraries, AreNotThoseUnderAnotherName) {
  World world;
  world.add("claimed", "good");
  std::filesystem::create_symlink("libfake.so", world.path() / "claimed/libfake.so.1");

  EXPECT_THAT(unclaimed_in(world), IsEmpty());
}

// The search skips manifests of other machines, whose libraries may be beside those of this one.
TEST(UnclaimedLibraries, AreNotThoseOfAnotherMachine) {
  World world;
  world.add("acme", "good");
  test::fake_manifest()
      .library("libother.so")
      .write_to(world.path() / concat("acme/acme.", other_machine(), ".yaml"));
  test::write_file(world.path() / "acme/libother.so",
                   test::plugin_elf(bytes_of(note_record("acme.npu")))
                       .machine(other_machine() == "aarch64" ? 183 : 62)
                       .build());

  EXPECT_THAT(unclaimed_in(world), IsEmpty());
}

TEST(UnclaimedLibraries, AreNotThoseBesideAManifestThatCannotBeRead) {
  World world;
  world.add("broken", "good", test::fake_manifest().line("surprise: 1"));

  EXPECT_THAT(unclaimed_in(world), IsEmpty());
}

// A host with a directory for manifests and one for libraries of packages.
class PackageLibraries : public ::testing::Test {
 protected:
  void add_library(std::string_view id) const {
    std::filesystem::create_directories(libraries() / id);
    test::write_file(libraries() / id / "libacme.so", library_of(id));
  }
  std::filesystem::path manifest(std::string_view name) const { return dir_ / "share" / name; }
  std::filesystem::path libraries() const { return dir_ / "lib"; }
  std::vector<std::string> unclaimed(bool replaced = false) const {
    PluginLocations locations;
    locations.host = {{Tier::admin, (dir_ / "etc").string()},
                      {Tier::system, (dir_ / "share").string()}};
    if (replaced) locations.plugin_files = "";
    SearchResult found = search_plugins(locations);
    std::vector<std::string> ids;
    for (const UnclaimedLibrary& one : unclaimed_libraries(
             found.locations, discover(found, {}).candidates, {libraries().string()}))
      ids.push_back(one.id);
    return ids;
  }
  void mask(std::string_view name) const {
    std::filesystem::create_directories(dir_ / "etc");
    test::write_file(dir_ / "etc" / name, std::string_view());
  }

 private:
  test::TempDir dir_;
};

TEST_F(PackageLibraries, AreUnclaimedWithoutAManifest) {
  add_library("acme.left");
  EXPECT_THAT(unclaimed(), ElementsAre("acme.left"));

  add_library("acme.npu");
  test::fake_manifest()
      .id("acme.npu")
      .library((libraries() / "acme.npu/libacme.so").string())
      .write_to(manifest("acme.npu.yaml"));
  EXPECT_THAT(unclaimed(), ElementsAre("acme.left"));
}

TEST_F(PackageLibraries, AreNotListedIfTheirManifestIsNotRead) {
  add_library("acme.npu");
  test::fake_manifest()
      .id("acme.npu")
      .library((libraries() / "acme.npu/libacme.so").string())
      .write_to(manifest("acme.npu.yaml"));
  // GANTRY_PLUGIN_FILES replaces the manifests of packages.
  EXPECT_THAT(unclaimed(true), IsEmpty());

  mask("acme.npu.yaml");
  EXPECT_THAT(unclaimed(), IsEmpty());
}

TEST(UnclaimedLibraries, AreSearchedWherePackagesInstallThem) {
  const std::string architecture = host_traits().arch;

  EXPECT_THAT(
      package_library_directories(),
      ::testing::Contains(concat("/usr/lib/", architecture, "-linux-gnu/gantry/plugins.d")));
}

}  // namespace
}  // namespace gantry
