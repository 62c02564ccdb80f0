// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/vendor_keys.hpp"

#include "core/format/payload_layout.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

TEST(VendorKeys, AreSortedAndUnique) {
  const auto keys = vendor_keys();
  for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_LT(keys[i - 1].key, keys[i].key);
}

// So that payloads without a plugin are listed and written back.
TEST(VendorKeys, HaveALayout) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  for (const VendorKey& key : vendor_keys()) {
    EXPECT_TRUE(layouts.contains(key.key)) << key.key;
    EXPECT_FALSE(key.vendor.empty() || key.device.empty()) << key.key;
  }
}

TEST(VendorKeys, NameDeviceAndVendor) {
  EXPECT_EQ(vendor_advice(*find_vendor_key("cudnn_json")),
            "it runs on CUDA GPUs with cuDNN, by a plugin of NVIDIA; gantry contains none");
  EXPECT_EQ(find_vendor_key("cuda"), nullptr);
  EXPECT_EQ(find_vendor_key("zzz"), nullptr);
}

}  // namespace
}  // namespace gantry
