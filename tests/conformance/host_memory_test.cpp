// SPDX-License-Identifier: Apache-2.0
//
// Cases 101, 104 and 106 through the host: memory of scope "host", zeros and imports of each device.
#include "under_test.hpp"

#include <gantry/fill.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace gantry::conformance {
namespace {

class HostMemory : public DeviceTest {};

// 101
TEST_P(HostMemory, OfADeviceIsOnTheCpuAndIsCopied) {
  const std::int64_t shape[] = {1000};
  const auto sent = runtime->host_tensor(shape, dtypes::float32, name());
  const auto received = runtime->host_tensor(shape, dtypes::float32, name());
  const auto there = runtime->tensor(shape, dtypes::float32, name());
  ASSERT_TRUE(sent.ok()) << sent.error().message;
  ASSERT_TRUE(received.ok() && there.ok());
  EXPECT_EQ(sent->dlpack()->device.type, cpu_device_type);
  auto* const first = static_cast<float*>(sent->data());
  std::iota(first, first + 1000, 1.0F);

  ASSERT_TRUE(runtime->copy(*sent, *there).ok());
  ASSERT_TRUE(runtime->copy(*there, *received).ok());

  EXPECT_TRUE(std::equal(first, first + 1000, static_cast<const float*>(received->data())));
}

// 104
TEST_P(HostMemory, IsNotNeededForZeros) {
  const Tensor there = vector(1000, 1, 1);
  gantry_tensor part = *there.dlpack();
  const std::int64_t extent = 500;
  part.shape = const_cast<std::int64_t*>(&extent);
  part.byte_offset = 12;

  const Status filled = fill_zeros(runtime->host(), part, nullptr);

  ASSERT_TRUE(filled.ok()) << filled.error().message;
  std::vector<float> expected(1000);
  std::iota(expected.begin(), expected.end(), 1.0F);
  std::fill_n(expected.begin() + 3, 500, 0.0F);
  EXPECT_EQ(elements(there), expected);
}

// 106
TEST_P(HostMemory, IsImportedOrCopied) {
  constexpr std::size_t page = 65536;
  auto* const data = static_cast<float*>(std::aligned_alloc(page, 2 * page));
  std::iota(data, data + 2 * page / sizeof(float), 0.0F);
  const std::int64_t shape[] = {8};
  gantry_tensor what = compact_tensor(dtypes::float32, shape, device.id);
  what.byte_offset = 64;
  const gantry_external memory{sizeof memory, GANTRY_EXTERNAL_HOST, data, -1, page, page};
  int destroyed = 0;
  {
    const auto tensor = runtime->import_memory(memory, what, &destroyed,
                                               [](void* self) { ++*static_cast<int*>(self); });
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;

    std::vector<float> expected(8);
    std::iota(expected.begin(), expected.end(), static_cast<float>((page + 64) / sizeof(float)));
    EXPECT_EQ(elements(*tensor), expected);
  }
  EXPECT_EQ(destroyed, 1);
  std::free(data);
}

INSTANTIATE_TEST_SUITE_P(Every, HostMemory, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
