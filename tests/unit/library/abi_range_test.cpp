// SPDX-License-Identifier: Apache-2.0
//
// The ABI ranges of the core, of a library and of its manifest.
#include "core/plugins/library/plugin.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::fake_manifest;
using test::World;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

gantry_host_info core_of(std::uint32_t max_minor) {
  gantry_host_info core = test::core_info();
  core.abi.max_minor = max_minor;
  return core;
}

TEST(AbiRange, OfANewerSdkIsNegotiatedDown) {
  World world;
  world.add("newer", "wider_abi", fake_manifest().abi("{major: 1, min_minor: 0, max_minor: 9}"));

  const auto plugin = open_plugin(world.manifest("newer"), core_of(0));

  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_EQ((*plugin)->abi_minor, 0u);
  EXPECT_THAT((*plugin)->warnings, IsEmpty());
}

TEST(AbiRange, OfAnOlderSdkIsKept) {
  World world;
  world.add("older", "good");

  const auto plugin = open_plugin(world.manifest("older"), core_of(3));

  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_EQ((*plugin)->abi_minor, 0u);
}

TEST(AbiRange, IsTheHighestCommonMinor) {
  World world;
  world.add("newer", "wider_abi", fake_manifest().abi("{major: 1, min_minor: 0, max_minor: 9}"));

  const auto plugin = open_plugin(world.manifest("newer"), core_of(3));

  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_EQ((*plugin)->abi_minor, 3u);
}

// A library that was rebuilt with a newer SDK, with the previous manifest.
TEST(AbiRange, ThatDiffersFromTheManifestsIsRefused) {
  World world;
  world.add("rebuilt", "wider_abi");

  const auto plugin = open_plugin(world.manifest("rebuilt"), core_of(0));

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::malformed);
  EXPECT_EQ(plugin.error().reason, "ABI_MISMATCH");
  EXPECT_EQ(plugin.error().message,
            concat(world.path().string(), "/rebuilt/rebuilt.yaml declares ABI 1.0, the note of ",
                   world.library("rebuilt").string(),
                   " declares 1.0-1.9: the two belong to different installations"));
}

TEST(AbiRange, DisjointIsRefused) {
  World world;
  world.add("other", "newer_abi");

  const auto plugin = open_plugin(world.manifest("other"), core_of(9));

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::malformed);
  EXPECT_EQ(plugin.error().reason, "ABI_MISMATCH");
  EXPECT_THAT(plugin.error().message, HasSubstr("other.yaml declares ABI 1.0, "));
  EXPECT_THAT(plugin.error().message, HasSubstr("libfake.so declares 1.4-1.6: the two belong to "
                                                "different installations"));
}

}  // namespace
}  // namespace gantry
