// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/known_keys.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KnownKeys, AreSortedAndUnique) {
  const auto keys = known_keys();
  for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_LT(keys[i - 1].key, keys[i].key);
}

TEST(KnownKeys, NameThePluginThatServesThem) {
  EXPECT_EQ(find_known_key("cuda")->plugin, "gantry.cuda");
  EXPECT_EQ(find_known_key("GraphRuntimeFactory")->plugin, "gantry.graph");
  EXPECT_EQ(find_known_key("acme"), nullptr);
}

TEST(NearKeys, ContainRenamedKeysInBothDirectionsIfServed) {
  EXPECT_THAT(near_keys("relax.Executable", {"cuda", "relax.VMExecutable"}),
              ElementsAre("relax.VMExecutable"));
  EXPECT_THAT(near_keys("hsaco", {"hip"}), ElementsAre("hip"));
  EXPECT_THAT(near_keys("relax.Executable", {"cuda"}), IsEmpty());
}

TEST(NearKeys, ContainSimilarSpellings) {
  EXPECT_THAT(near_keys("opencI", {"opencl", "vulkan"}), ElementsAre("opencl"));
}

TEST(NearKeys, DoNotContainTheKeyItself) {
  EXPECT_THAT(near_keys("cuda", {"cuda", "cudb"}), ElementsAre("cudb"));
  EXPECT_THAT(near_keys("hip", {"hip", "hsaco"}), ElementsAre("hsaco"));
}

}  // namespace
}  // namespace gantry
