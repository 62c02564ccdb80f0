// SPDX-License-Identifier: Apache-2.0
#include "core/formats/type_key.hpp"

#include "core/formats/payload_layout.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TypeKeys, AreSortedAndUnique) {
  const auto keys = type_keys();
  for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_LT(keys[i - 1].key, keys[i].key);
}

// So that payloads without a plugin are listed and written back.
TEST(TypeKeys, HaveALayout) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  for (const TypeKey& key : type_keys()) {
    EXPECT_EQ(layouts.alternatives(key.key).size(), key.layouts.size()) << key.key;
    EXPECT_FALSE(key.layouts.empty()) << key.key;
  }
}

TEST(TypeKeys, OfVendorsNameADevice) {
  for (const TypeKey& key : type_keys())
    EXPECT_EQ(key.vendor.empty(), key.device.empty()) << key.key;
}

TEST(TypeKeys, AreRenamedToKeysOfTheTable) {
  for (const TypeKey& key : type_keys()) {
    if (key.renamed.empty()) continue;
    const TypeKey* const later = find_type_key(key.renamed);
    ASSERT_NE(later, nullptr) << key.key;
    EXPECT_EQ(later->content, key.content) << key.key;
    EXPECT_GE(later->last, key.last) << key.key;
  }
}

TEST(TypeKeys, NameThePluginThatServesThem) {
  EXPECT_EQ(find_type_key("cuda")->plugin, "gantry.cuda");
  EXPECT_EQ(find_type_key("GraphRuntimeFactory")->plugin, "gantry.graph");
  EXPECT_EQ(find_type_key("acme"), nullptr);
}

TEST(TypeKeys, DecideTheContentOfPayloads) {
  EXPECT_EQ(content_of("vulkan"), PayloadContent::kernels);
  EXPECT_EQ(content_of("metadata"), PayloadContent::constants);
  EXPECT_EQ(content_of("tensorrt"), PayloadContent::other);
  EXPECT_EQ(content_of("acme"), PayloadContent::other);
}

TEST(VendorAdvice, NamesDeviceAndVendor) {
  EXPECT_EQ(vendor_advice(*find_type_key("cudnn_json")),
            "it runs on CUDA GPUs with cuDNN, by a plugin of NVIDIA; gantry contains none");
  EXPECT_TRUE(find_type_key("cuda")->vendor.empty());
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
