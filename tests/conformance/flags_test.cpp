// SPDX-License-Identifier: Apache-2.0
//
// Unknown flags, and the form of the values that a device returns.
#include "under_test.hpp"

namespace gantry::conformance {
namespace {

using DeviceFlags = DeviceTest;

TEST_P(DeviceFlags, ThatAreNotKnownAreRefused) {
  void* made = nullptr;

  const Status stream = table([&](const auto& t, void* self, gantry_status* status) {
    return t.stream_create(self, 0, 0x40, &made, status);
  });
  const Status event = table([&](const auto& t, void* self, gantry_status* status) {
    return t.event_create(self, 0, 0x40, &made, status);
  });

  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code, Code::unsupported) << stream.error().message;
  ASSERT_FALSE(event.ok());
  EXPECT_EQ(event.error().code, Code::unsupported) << event.error().message;
  EXPECT_EQ(made, nullptr);
}

TEST_P(DeviceFlags, OfACopyThatAreNotKnownAreRefused) {
  const auto bytes = pattern(16, 1);
  const auto data = alloc(16);
  ASSERT_TRUE(data.ok());

  const Status copied = copy(on_host(bytes.data()), on_device(*data), 16, 0x40);

  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Code::unsupported) << copied.error().message;
  EXPECT_EQ(copied.error().reason, "FLAGS");
  free(*data);
}

TEST_P(DeviceFlags, OfAnAllocationThatAreNotKnownAreRefused) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 16;
  what.alignment = 64;
  what.dtype = {1, 8, 1};
  what.flags = 0x40;
  void* data = nullptr;

  const Status refused = table([&](const auto& t, void* self, gantry_status* status) {
    return t.alloc(self, 0, &what, &data, status);
  });
  what.flags = GANTRY_ALLOC_IN_STREAM;
  const Status made = table([&](const auto& t, void* self, gantry_status* status) {
    return t.alloc(self, 0, &what, &data, status);
  });

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported) << refused.error().message;
  EXPECT_EQ(refused.error().reason, "FLAGS");
  ASSERT_TRUE(made.ok()) << made.error().message;
  free(data);
}

using DeviceValues = DeviceTest;

TEST_P(DeviceValues, AreCanonical) {
  int count = 0;
  for (std::int32_t kind = 0; kind <= 16; ++kind) {
    const auto value = attribute(0, kind);
    ASSERT_TRUE(value.ok()) << value.error().message;
    if (!*value) continue;
    EXPECT_EQ(gantry_value_is_canonical(&(*value)->value()), 1) << "attribute " << kind;
    ++count;
  }
  EXPECT_GT(count, 1);
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceFlags, ::testing::ValuesIn(devices), name_of_test);
INSTANTIATE_TEST_SUITE_P(Every, DeviceValues, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
