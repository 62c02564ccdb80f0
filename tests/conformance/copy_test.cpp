// SPDX-License-Identifier: Apache-2.0
//
// Case 75: copies, with byte offsets, and between all devices.
#include "under_test.hpp"

#include <cstring>

namespace gantry::conformance {
namespace {

class DeviceCopy : public DeviceTest {
 protected:
  // Copies `bytes` to the device and back into memory with other content.
  std::vector<std::uint8_t> round_trip(const std::vector<std::uint8_t>& bytes, std::uint64_t offset,
                                       std::uint64_t host_offset) {
    const std::uint64_t size = bytes.size() - host_offset;
    const auto memory = alloc(offset + size);
    EXPECT_TRUE(memory.ok()) << memory.error().message;
    std::vector<std::uint8_t> back(bytes.size(), 0x5a);
    const Status up = copy(on_host(bytes.data(), host_offset), on_device(*memory, offset), size);
    EXPECT_TRUE(up.ok()) << up.error().message;
    const Status down = copy(on_device(*memory, offset), on_host(back.data(), host_offset), size);
    EXPECT_TRUE(down.ok()) << down.error().message;
    free(*memory);
    return back;
  }
};

TEST_P(DeviceCopy, ToTheDeviceAndBackInEverySize) {
  for (const std::size_t size : {0u, 1u, 3u, 4u, 4095u, 4096u, 4097u, (4u << 20) + 5u}) {
    const auto bytes = pattern(size, 7);
    EXPECT_TRUE(round_trip(bytes, 0, 0) == bytes) << size << " bytes";
  }
}

TEST_P(DeviceCopy, BeginsAtOffsetsOnBothSides) {
  for (const std::uint64_t offset : {1u, 4u, 100u, 4096u}) {
    for (const std::uint64_t host_offset : {0u, 1u, 12u}) {
      const auto bytes = pattern(300, 11);
      const auto back = round_trip(bytes, offset, host_offset);
      EXPECT_TRUE(std::equal(back.begin() + static_cast<std::ptrdiff_t>(host_offset), back.end(),
                             bytes.begin() + static_cast<std::ptrdiff_t>(host_offset)))
          << offset << ", " << host_offset;
      EXPECT_EQ(
          std::count(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(host_offset), 0x5a),
          static_cast<std::ptrdiff_t>(host_offset));
    }
  }
}

// Bytes before and after the target range do not change.
TEST_P(DeviceCopy, WritesOnlyItsRange) {
  const auto memory = alloc(4096);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  const auto before = pattern(4096, 1), middle = pattern(1000, 2);
  ASSERT_TRUE(copy(on_host(before.data()), on_device(*memory), 4096).ok());

  ASSERT_TRUE(copy(on_host(middle.data()), on_device(*memory, 500), 1000).ok());

  auto expected = before, found = before;
  std::copy(middle.begin(), middle.end(), expected.begin() + 500);
  ASSERT_TRUE(copy(on_device(*memory), on_host(found.data()), 4096).ok());
  EXPECT_TRUE(found == expected);
  free(*memory);
}

TEST_P(DeviceCopy, WithinTheDeviceUsesOffsets) {
  const auto source = alloc(4096), target = alloc(4096);
  ASSERT_TRUE(source.ok() && target.ok());
  const auto bytes = pattern(4096, 3);
  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*source), 4096).ok());
  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*target), 4096).ok());

  const Status copied = copy(on_device(*source, 100), on_device(*target, 2000), 512, 0);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  std::vector<std::uint8_t> found(4096);
  ASSERT_TRUE(copy(on_device(*target), on_host(found.data()), 4096).ok());
  auto expected = bytes;
  for (std::size_t i = 0; i < 512; ++i) expected[2000 + i] = bytes[100 + i];
  EXPECT_TRUE(found == expected);
  free(*source);
  free(*target);
}

// Two ranges of one allocation that do not overlap.
TEST_P(DeviceCopy, WithinOneAllocation) {
  const auto memory = alloc(4096);
  ASSERT_TRUE(memory.ok());
  const auto bytes = pattern(4096, 4);
  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*memory), 4096).ok());

  const Status copied = copy(on_device(*memory, 0), on_device(*memory, 2048), 1024, 0);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  std::vector<std::uint8_t> found(1024);
  ASSERT_TRUE(copy(on_device(*memory, 2048), on_host(found.data()), 1024).ok());
  EXPECT_TRUE(std::equal(found.begin(), found.end(), bytes.begin()));
  free(*memory);
}

// Copies tensors: the host copies through its own memory if the table cannot.
TEST_P(DeviceCopy, BetweenItsOwnDevicesKeepsTheOrderOfBoth) {
  if (count() < 2) GTEST_SKIP() << "there is one " << GetParam().kind << " device";
  const Tensor here = vector(1000, 1, 1, 0), there = vector(1000, 0, 0, 1);

  for (int k = 0; k < 20; ++k) {
    ASSERT_TRUE(runtime->copy(here, there).ok());
    ASSERT_TRUE(runtime->copy(there, here).ok());
  }

  EXPECT_EQ(elements(there), elements(vector(1000, 1, 1, 1)));
}

TEST_P(DeviceCopy, ToAndFromEveryOtherDeviceRunsThroughTheHost) {
  for (const UnderTest& other : devices) {
    const auto id = runtime->device(concat(other.kind, ":0"));
    if (!id.ok()) continue;
    const Tensor here = vector(3000, 7, 2);
    Tensor there = runtime->tensor(here.shape(), here.dtype(), other.kind).value();
    const Tensor back = vector(3000, 0, 0);

    const Status away = runtime->copy(here, there);
    const Status home = runtime->copy(there, back);

    ASSERT_TRUE(away.ok()) << other.kind << ": " << away.error().message;
    ASSERT_TRUE(home.ok()) << other.kind << ": " << home.error().message;
    EXPECT_EQ(elements(back), elements(here)) << other.kind;
  }
}

TEST_P(DeviceCopy, OfARowBeginsAtItsOffset) {
  const std::int64_t shape[] = {4, 100};
  Tensor host = runtime->tensor(shape, {2, 32, 1}).value();
  for (std::size_t i = 0; i < 400; ++i) host.elements<float>()[i] = static_cast<float>(i);
  Tensor all = runtime->tensor(shape, {2, 32, 1}, name()).value();
  ASSERT_TRUE(runtime->copy(host, all).ok());

  const std::vector<float> row = elements(all.row(2).value());

  EXPECT_EQ(row.front(), 200);
  EXPECT_EQ(row.back(), 299);
}

TEST_P(DeviceCopy, FromUnknownMemoryIsRefused) {
  if (!is_opaque()) GTEST_SKIP() << "its data are addresses, which it does not validate";
  const auto memory = alloc(64);
  ASSERT_TRUE(memory.ok());
  const auto bytes = pattern(64, 5);

  const Status past_the_end = copy(on_host(bytes.data()), on_device(*memory, 32), 64);

  ASSERT_FALSE(past_the_end.ok());
  EXPECT_EQ(past_the_end.error().code, Code::invalid) << past_the_end.error().message;
  free(*memory);
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceCopy, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
