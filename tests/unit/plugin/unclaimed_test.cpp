// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/unclaimed.hpp"

#include "tests/support/note_bytes.hpp"
#include "tests/unit/plugin/world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::bytes_of;
using test::note_record;
using test::World;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> unclaimed_in(const World& world) {
  const SearchResult found = world.search();
  const std::vector<Candidate> candidates = merge_plugins(found, {}).candidates;
  std::vector<std::string> all;
  for (const UnclaimedLibrary& one : unclaimed_libraries(found.locations, candidates)) {
    all.push_back(concat(std::filesystem::relative(one.path, world.path()).string(), ": ", one.id,
                         " ", one.version));
  }
  return all;
}

std::vector<std::uint8_t> library_of(std::string_view id) {
  return test::plugin_elf(bytes_of(note_record(id))).build();
}

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

TEST(UnclaimedLibraries, AreNotThoseBesideAManifestThatCannotBeRead) {
  World world;
  world.add("broken", "good", test::fake_manifest().line("surprise: 1"));

  EXPECT_THAT(unclaimed_in(world), IsEmpty());
}

}  // namespace
}  // namespace gantry
