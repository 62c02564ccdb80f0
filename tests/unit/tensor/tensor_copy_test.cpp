// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/cpu_device.hpp"
#include "tests/unit/tensor/fake_device.hpp"
#include "tests/unit/tensor/like.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace gantry {
namespace {

using test::FakeDevice;
using test::kByte;
using test::Like;
using test::make;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// uint8 tensor on the host with the given bytes.
Ref<TensorObject> host_bytes(const DeviceSet& devices, const std::vector<std::uint8_t>& bytes) {
  auto tensor = make(devices, Like({static_cast<std::int64_t>(bytes.size())}, kByte));
  std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t*>(tensor->tensor.data));
  return tensor;
}

std::vector<std::uint8_t> bytes_of(const TensorObject& tensor) {
  const auto* const data = static_cast<const std::uint8_t*>(tensor.tensor.data);
  return {data, data + tensor.bytes};
}

TEST(TensorCopy, CopiesBetweenHostTensors) {
  const DeviceSet devices;
  const auto from = host_bytes(devices, {1, 2, 3, 4});
  const auto to = host_bytes(devices, {0, 0, 0, 0});

  const Status copied = tensor_copy(devices, from->tensor, to->tensor, nullptr);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_THAT(bytes_of(*to), ElementsAre(1, 2, 3, 4));
}

TEST(TensorCopy, HonoursOffsetsAndReshapes) {
  const DeviceSet devices;
  const auto from = host_bytes(devices, {1, 2, 3, 4, 5, 6});
  const auto to = host_bytes(devices, {0, 0, 0, 0, 0, 0});
  const Like middle = Like({2, 2}, kByte).over(from->tensor.data, 1);
  const Like end = Like({4}, kByte).with_strides({1}).over(to->tensor.data, 2);

  ASSERT_TRUE(tensor_copy(devices, middle.tensor, end.tensor, nullptr).ok());

  EXPECT_THAT(bytes_of(*to), ElementsAre(0, 0, 2, 3, 4, 5));
}

TEST(TensorCopy, IsCompleteOnReturnIfOneSideIsTheHost) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const gantry_device_id id = {npu.add_to(devices), 3};
  const auto from = host_bytes(devices, {1, 2, 3, 4});
  const auto there = make(devices, Like({4}, kByte, id));
  const auto back = host_bytes(devices, {0, 0, 0, 0});
  npu.calls.clear();

  ASSERT_TRUE(tensor_copy(devices, from->tensor, there->tensor, nullptr).ok());
  EXPECT_EQ(npu.last_flags, GANTRY_COPY_BLOCKING);
  npu.last_flags = 0;
  ASSERT_TRUE(tensor_copy(devices, there->tensor, back->tensor, nullptr).ok());

  EXPECT_EQ(npu.last_flags, GANTRY_COPY_BLOCKING);
  EXPECT_THAT(bytes_of(*back), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(npu.calls, ElementsAre("copy 4 bytes host+0 -> npu+0 on 3",
                                     "copy 4 bytes npu+0 -> host+0 on 3"));
}

TEST(TensorCopy, WithinADeviceIsOnItsStream) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const auto from = make(devices, Like({4}, kByte, {type, 1}));
  const auto to = make(devices, Like({4}, kByte, {type, 1}));
  npu.calls.clear();

  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, nullptr).ok());

  EXPECT_THAT(npu.calls, ElementsAre("copy 4 bytes npu+0 -> npu+0 on 1"));
  EXPECT_EQ(npu.last_flags, 0u);
}

// Work on the target's stream may still read the old content, and later work reads the new one.
TEST(TensorCopy, BetweenDevicesOfOneTypeIsOrderedOnBothStreams) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const auto from = make(devices, Like({4}, kByte, {type, 0}));
  const auto to = make(devices, Like({4}, kByte, {type, 1}));
  npu.calls.clear();

  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, nullptr).ok());

  EXPECT_THAT(npu.calls, ElementsAre("record on 1", "wait on 0", "copy 4 bytes npu+0 -> npu+0 on 0",
                                     "record on 0", "wait on 1"));
  EXPECT_EQ(npu.last_flags, 0u);
  EXPECT_EQ(npu.last_copy_size, sizeof(gantry_copy));
  EXPECT_EQ(npu.events, 0);
  EXPECT_EQ(npu.last_event_flags, std::uint32_t{GANTRY_EVENT_UNTIMED});
}

TEST(TensorCopy, BetweenDevicesDestroysAnEventThatCannotBeRecordedOrAwaited) {
  for (const std::string_view call : {"record", "wait"}) {
    DeviceSet devices;
    FakeDevice npu("npu");
    const std::int32_t type = npu.add_to(devices);
    const auto from = make(devices, Like({4}, kByte, {type, 0}));
    const auto to = make(devices, Like({4}, kByte, {type, 1}));
    npu.fails_with = GANTRY_UNAVAILABLE;
    npu.event_call_fails = call;

    const Status copied = tensor_copy(devices, from->tensor, to->tensor, nullptr);

    ASSERT_FALSE(copied.ok()) << call;
    EXPECT_EQ(copied.error().message, "the fake device fails") << call;
    EXPECT_EQ(npu.events, 0) << call;
  }
}

TEST(TensorCopy, BetweenDevicesWithoutEventsSynchronizes) {
  DeviceSet devices;
  FakeDevice npu("npu");
  npu.has_events = false;
  const std::int32_t type = npu.add_to(devices);
  const auto from = make(devices, Like({4}, kByte, {type, 0}));
  const auto to = make(devices, Like({4}, kByte, {type, 1}));
  npu.calls.clear();

  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, nullptr).ok());

  EXPECT_THAT(npu.calls, ElementsAre("synchronize on 1", "copy 4 bytes npu+0 -> npu+0 on 0",
                                     "synchronize on 0"));
}

TEST(TensorCopy, GoesThroughTheHostIfTheDeviceDoesNotCopyBetweenIndices) {
  DeviceSet devices;
  FakeDevice npu("npu");
  npu.copies_between = false;
  const std::int32_t type = npu.add_to(devices);
  const auto host = host_bytes(devices, {1, 2, 3, 4}), back = host_bytes(devices, {0, 0, 0, 0});
  const auto from = make(devices, Like({4}, kByte, {type, 0}));
  const auto to = make(devices, Like({4}, kByte, {type, 1}));
  ASSERT_TRUE(tensor_copy(devices, host->tensor, from->tensor, nullptr).ok());
  npu.calls.clear();

  const Status copied = tensor_copy(devices, from->tensor, to->tensor, nullptr);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_THAT(npu.calls, ElementsAre("record on 1", "wait on 0", "copy 4 bytes npu+0 -> npu+0 on 0",
                                     "copy 4 bytes npu+0 -> host+0 on 0",
                                     "copy 4 bytes host+0 -> npu+0 on 1"));
  EXPECT_EQ(npu.last_flags, GANTRY_COPY_BLOCKING);
  ASSERT_TRUE(tensor_copy(devices, to->tensor, back->tensor, nullptr).ok());
  EXPECT_THAT(bytes_of(*back), ElementsAre(1, 2, 3, 4));
}

TEST(TensorCopy, UsesTheStreamOfTheEnvironmentsDevice) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const auto from = host_bytes(devices, {1, 2});
  const auto to = make(devices, Like({2}, kByte, {type, 1}));
  int stream = 0;
  gantry_env env{};
  env.stream = &stream;

  env.device = {type, 1};
  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, &env).ok());
  EXPECT_EQ(npu.last_stream, &stream);
  env.device = {type, 0};
  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, &env).ok());
  EXPECT_EQ(npu.last_stream, nullptr) << "the stream belongs to another device";
  env.device = {kCpu, 1};
  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, &env).ok());
  EXPECT_EQ(npu.last_stream, nullptr);
  int listed = 0;
  const gantry_device_stream items[] = {{{type, 0}, &stream}, {{type, 1}, &listed}};
  const gantry_streams others{items, 2};
  env.streams = &others;
  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, &env).ok());
  EXPECT_EQ(npu.last_stream, &listed);
}

// The call that reports the loss is the last one but those that release something.
TEST(LostDevice, IsNotCalledAgain) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const auto host = host_bytes(devices, {1, 2});
  auto there = make(devices, Like({2}, kByte, {type, 0}));
  const auto other = make(devices, Like({2}, kByte, {type, 1}));
  npu.fails_with = GANTRY_LOST;
  const Status lost = tensor_copy(devices, host->tensor, there->tensor, nullptr);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Code::lost);
  EXPECT_EQ(lost.error().message, "the fake device fails");
  npu.fails_with = GANTRY_OK;
  npu.calls.clear();

  const Status copied = tensor_copy(devices, there->tensor, host->tensor, nullptr);
  const auto made = tensor_new(devices, Like({2}, kByte, {type, 0}).tensor);
  const Status between = tensor_copy(devices, other->tensor, there->tensor, nullptr);

  for (const Error* const error : {&copied.error(), &made.error(), &between.error()}) {
    EXPECT_EQ(error->code, Code::lost);
    EXPECT_THAT(error->message.text(), ::testing::StartsWith("the fake device fails"));
  }
  EXPECT_THAT(npu.calls, ElementsAre());
  there = {};
  EXPECT_EQ(npu.calls.back(), "free on 0");
  EXPECT_TRUE(tensor_copy(devices, host->tensor, other->tensor, nullptr).ok()) << "works";
}

TEST(TensorCopy, GoesThroughTheHostBetweenTwoTypes) {
  DeviceSet devices;
  FakeDevice npu("npu"), dsp("dsp");
  const std::int32_t npu_type = npu.add_to(devices), dsp_type = dsp.add_to(devices);
  std::vector<std::uint8_t> pattern((20u << 20) + 1);
  std::iota(pattern.begin(), pattern.end(), std::uint8_t{0});
  const auto size = static_cast<std::int64_t>(pattern.size());
  const auto host = host_bytes(devices, pattern);
  const auto from = make(devices, Like({size}, kByte, {npu_type, 0}));
  const auto to = make(devices, Like({size}, kByte, {dsp_type, 2}));
  ASSERT_TRUE(tensor_copy(devices, host->tensor, from->tensor, nullptr).ok());
  npu.calls.clear();
  dsp.calls.clear();

  const Status copied = tensor_copy(devices, from->tensor, to->tensor, nullptr);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_THAT(npu.calls, ElementsAre("alloc 8388608 bytes at 256, rank 0, scope host, on 0",
                                     "copy 8388608 bytes npu+0 -> host+0 on 0",
                                     "copy 8388608 bytes npu+8388608 -> host+0 on 0",
                                     "copy 4194305 bytes npu+16777216 -> host+0 on 0"));
  EXPECT_THAT(dsp.calls, ElementsAre("alloc 8388608 bytes at 256, rank 0, scope host, on 2",
                                     "copy 8388608 bytes host+0 -> dsp+0 on 2",
                                     "copy 8388608 bytes host+0 -> dsp+8388608 on 2",
                                     "copy 4194305 bytes host+0 -> dsp+16777216 on 2"));
  EXPECT_EQ(npu.last_flags, GANTRY_COPY_BLOCKING);
  EXPECT_EQ(dsp.last_flags, GANTRY_COPY_BLOCKING);
  const auto back = host_bytes(devices, std::vector<std::uint8_t>(pattern.size()));
  ASSERT_TRUE(tensor_copy(devices, to->tensor, back->tensor, nullptr).ok());
  EXPECT_TRUE(bytes_of(*back) == pattern);
}

TEST(TensorCopy, BetweenTypesIsOneCopyIfTheHostAddressesOneSide) {
  for (const bool is_source : {true, false}) {
    DeviceSet devices;
    FakeDevice a("a"), b("b");
    const auto from = make(devices, Like({4}, kByte, {a.add_to(devices), 0}));
    const auto to = make(devices, Like({4}, kByte, {b.add_to(devices), 1}));
    const auto sent = host_bytes(devices, {1, 2, 3, 4}),
               received = host_bytes(devices, {0, 0, 0, 0});
    ASSERT_TRUE(tensor_copy(devices, sent->tensor, from->tensor, nullptr).ok());
    (is_source ? a : b).has_host_address();
    a.calls.clear();
    b.calls.clear();

    const Status copied = tensor_copy(devices, from->tensor, to->tensor, nullptr);

    ASSERT_TRUE(copied.ok()) << copied.error().message;
    if (is_source) {
      EXPECT_THAT(a.calls, ElementsAre("host_address on 0", "synchronize on 0"));
      EXPECT_THAT(b.calls, ElementsAre("copy 4 bytes host+0 -> b+0 on 1"));
    } else {
      EXPECT_THAT(a.calls, ElementsAre("copy 4 bytes a+0 -> host+0 on 0"));
      EXPECT_THAT(b.calls, ElementsAre("host_address on 1", "synchronize on 1"));
    }
    ASSERT_TRUE(tensor_copy(devices, to->tensor, received->tensor, nullptr).ok());
    EXPECT_THAT(bytes_of(*received), ElementsAre(1, 2, 3, 4));
  }
}

// The memory of the CPU as that of a device which shares it.
TEST(TensorCopy, BetweenTypesIsOneCopyIfTheHostUsesTheMemoryAtItsAddress) {
  static int waits;
  waits = 0;
  gantry_device_table table = *cpu_device_table();
  table.type = 0;
  table.attribute = [](void*, std::int32_t, std::int32_t kind, gantry_value* value,
                       gantry_status*) -> gantry_code {
    if (kind != GANTRY_ATTRIBUTE_SHARED_ADDRESSES) return GANTRY_NOT_FOUND;
    *value = int_value(2);
    return GANTRY_OK;
  };
  table.synchronize = [](void*, std::int32_t, void*, gantry_status*) -> gantry_code {
    ++waits;
    return GANTRY_OK;
  };
  DeviceSet devices;
  FakeDevice b("b");
  const std::int32_t type = devices.add("shared", nullptr, &table).value();
  const auto from = make(devices, Like({4}, kByte, {type, 0}));
  const auto to = make(devices, Like({4}, kByte, {b.add_to(devices), 0}));
  b.calls.clear();

  const Status copied = tensor_copy(devices, from->tensor, to->tensor, nullptr);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(waits, 1);
  EXPECT_THAT(b.calls, ElementsAre("copy 4 bytes host+0 -> b+0 on 0"));
}

TEST(TensorCopy, BetweenTypesGoesThroughTheHostIfItAddressesNeither) {
  DeviceSet devices;
  FakeDevice a("a"), b("b");
  const auto from = make(devices, Like({4}, kByte, {a.add_to(devices), 0}));
  const auto to = make(devices, Like({4}, kByte, {b.add_to(devices), 0}));
  a.has_host_address();
  a.calls.clear();
  b.calls.clear();

  a.host_address_fails_with = GANTRY_UNSUPPORTED;
  ASSERT_TRUE(tensor_copy(devices, from->tensor, to->tensor, nullptr).ok());
  EXPECT_THAT(a.calls, ElementsAre("host_address on 0", "copy 4 bytes a+0 -> host+0 on 0"));
  EXPECT_THAT(b.calls, ElementsAre("copy 4 bytes host+0 -> b+0 on 0"));

  a.host_address_fails_with = GANTRY_UNAVAILABLE;
  const Status failed = tensor_copy(devices, from->tensor, to->tensor, nullptr);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::unavailable);
}

// ---- memory that is kept for copies through the host

struct StagedCopies : ::testing::Test {
  static constexpr std::int64_t bytes = StagingMemory::min_bytes;

  Status copy(std::int64_t size = bytes) {
    const auto from = make(devices, Like({size}, kByte, {a_type, 0}));
    const auto to = make(devices, Like({size}, kByte, {b_type, 0}));
    return tensor_copy(devices, from->tensor, to->tensor, nullptr);
  }

  FakeDevice a{"a"}, b{"b"};
  DeviceSet devices;
  std::int32_t a_type = a.add_to(devices), b_type = b.add_to(devices);
};

TEST_F(StagedCopies, UseMemoryOfTheSourceThatIsKept) {
  a.has_host_scope = b.has_host_scope = true;

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(copy().ok());

  EXPECT_EQ(a.host_memory.size(), 1u);
  EXPECT_EQ(b.host_memory.size(), 0u);
  devices.release_staging(a_type);
  EXPECT_EQ(a.host_memory.size(), 0u);
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(a.host_memory.size(), 0u) << "the plugin is destroyed next";
  devices.release_staging(b_type);
}

TEST_F(StagedCopies, UseMemoryOfTheTargetIfTheSourceHasNone) {
  b.has_host_scope = true;

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(copy().ok());

  EXPECT_EQ(b.host_memory.size(), 1u);
  EXPECT_EQ(std::ranges::count_if(a.calls,
                                  [](const std::string& call) {
                                    return call.find("scope host") != std::string::npos;
                                  }),
            1)
      << "it is asked once";
  devices.release_staging(b_type);
  EXPECT_EQ(b.host_memory.size(), 0u);
}

TEST_F(StagedCopies, UseNoSuchMemoryIfTheyAreSmall) {
  a.has_host_scope = true;

  ASSERT_TRUE(copy(bytes - 1).ok());

  EXPECT_EQ(a.host_memory.size(), 0u);
}

TEST(TensorCopy, CallsNoDeviceWithoutElements) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const auto from = host_bytes(devices, {});
  const auto to = make(devices, Like({0}, kByte, {type, 0}));
  npu.calls.clear();

  EXPECT_TRUE(tensor_copy(devices, from->tensor, to->tensor, nullptr).ok());

  EXPECT_THAT(npu.calls, IsEmpty());
}

TEST(TensorCopy, ReportsTheDevicesError) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const auto from = host_bytes(devices, {1, 2});
  const auto to = make(devices, Like({2}, kByte, {type, 0}));
  npu.fails_with = GANTRY_UNAVAILABLE;

  const Status copied = tensor_copy(devices, from->tensor, to->tensor, nullptr);

  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Code::unavailable);
  EXPECT_EQ(copied.error().message, "the fake device fails");
}

TEST(TensorCopy, RejectsAnotherIndexOfTheCpu) {
  const DeviceSet devices;
  std::uint8_t byte = 0;

  const Status copied = tensor_copy(devices, Like({1}, kByte, {kCpu, 1}).over(&byte).tensor,
                                    Like({1}, kByte, {kCpu, 1}).over(&byte).tensor, nullptr);

  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Code::invalid);
  EXPECT_EQ(copied.error().message, "cpu:1 does not exist, the only index is 0");
}

struct BadCopy {
  const char* name;
  Like from, to;
  const char* message;
};

float elements[16];

class InvalidTensorCopy : public ::testing::TestWithParam<BadCopy> {};

TEST_P(InvalidTensorCopy, IsRejected) {
  const Status copied =
      tensor_copy(DeviceSet(), GetParam().from.tensor, GetParam().to.tensor, nullptr);

  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Code::invalid);
  EXPECT_EQ(copied.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, InvalidTensorCopy,
    ::testing::Values(
        BadCopy{"OtherType", Like({2}).over(elements), Like({2}, {0, 32, 1}).over(elements),
                "tensor copy: source is float32[2] on cpu:0, target is int32[2] on cpu:0, expected "
                "the same type and number of elements"},
        BadCopy{"OtherCount", Like({2}).over(elements), Like({3}).over(elements),
                "tensor copy: source is float32[2] on cpu:0, target is float32[3] on cpu:0, "
                "expected the same type and number of elements"},
        BadCopy{"SourceNotCompact", Like({2, 2}).with_strides({4, 1}).over(elements),
                Like({4}).over(elements),
                "tensor copy: source float32[2, 2] on cpu:0 is not compact"},
        BadCopy{"TargetNotCompact", Like({4}).over(elements),
                Like({2, 2}).with_strides({1, 2}).over(elements),
                "tensor copy: target float32[2, 2] on cpu:0 is not compact"},
        BadCopy{"SourceAtNull", Like({2}), Like({2}).over(elements),
                "tensor copy: source float32[2] on cpu:0 is at address 0"},
        BadCopy{"TargetAtNull", Like({2}).over(elements), Like({2}),
                "tensor copy: target float32[2] on cpu:0 is at address 0"}),
    [](const auto& test) { return test.param.name; });

TEST(TensorCopy, AcceptsNoElementsAtAddressZero) {
  EXPECT_TRUE(tensor_copy(DeviceSet(), Like({0}).tensor, Like({0}).tensor, nullptr).ok());
}

}  // namespace
}  // namespace gantry
