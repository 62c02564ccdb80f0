// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/tensor.hpp"

#include "core/engine/tensor/cpu_device.hpp"
#include "tests/unit/tensor/fake_device.hpp"
#include "tests/unit/tensor/like.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::FakeDevice;
using test::kByte;
using test::kFloat;
using test::Like;
using test::make;
using ::testing::ElementsAre;

std::int64_t cpu_bytes() {
  gantry_value value{};
  EXPECT_EQ(cpu_device_table()->attribute(nullptr, 0, 1000, &value, nullptr), GANTRY_OK);
  return value.i;
}

TEST(DataBytes, IsTheProductOfShapeAndElement) {
  EXPECT_EQ(*data_bytes(Like({2, 3}).tensor), 24u);
  EXPECT_EQ(*data_bytes(Like({}).tensor), 4u);
  EXPECT_EQ(*data_bytes(Like({5, 0}).tensor), 0u);
  EXPECT_EQ(*data_bytes(Like({3}, {2, 32, 4}).tensor), 48u);
  EXPECT_EQ(*data_bytes(Like({3}, {1, 1, 1}).tensor), 3u);
}

TEST(DataBytes, RejectsANegativeExtent) {
  const auto bytes = data_bytes(Like({2, -3}).tensor);

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::invalid);
  EXPECT_EQ(bytes.error().message, "tensor dimension 1 is -3, minimum is 0");
}

TEST(DataBytes, RejectsANegativeRank) {
  gantry_tensor tensor = Like({}).tensor;
  tensor.ndim = -1;

  const auto bytes = data_bytes(tensor);

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::invalid);
  EXPECT_EQ(bytes.error().message, "tensor rank is -1, minimum is 0");
}

TEST(DataBytes, RejectsAMissingShape) {
  gantry_tensor tensor = Like({}).tensor;
  tensor.ndim = 2;
  tensor.shape = nullptr;

  const auto bytes = data_bytes(tensor);

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::invalid);
  EXPECT_EQ(bytes.error().message, "tensor of rank 2 has no shape");
}

TEST(DataBytes, RejectsElementsWithoutBitsOrLanes) {
  for (const gantry_dtype dtype : {gantry_dtype{2, 0, 1}, gantry_dtype{2, 32, 0}}) {
    gantry_tensor tensor = Like({2}).tensor;
    tensor.dtype = dtype;

    const auto bytes = data_bytes(tensor);

    ASSERT_FALSE(bytes.ok());
    EXPECT_EQ(bytes.error().code, Code::invalid);
    EXPECT_EQ(bytes.error().message,
              concat("tensor has elements of ", std::uint32_t{dtype.bits}, " bits and ",
                     std::uint32_t{dtype.lanes}, " lanes, the minimum of each is 1"));
  }
}

TEST(DataBytes, RejectsAnOverflow) {
  const auto bytes = data_bytes(Like({std::int64_t{1} << 31, std::int64_t{1} << 31, 2}).tensor);

  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::invalid);
  EXPECT_EQ(bytes.error().message, "tensor dimension 1 is 2147483648, room for 1073741823");
}

TEST(IsCompact, IsTrueForCompactStridesAndNone) {
  EXPECT_TRUE(is_compact(Like({2, 3}).tensor));
  EXPECT_TRUE(is_compact(Like({2, 3}).with_strides({3, 1}).tensor));
  EXPECT_TRUE(is_compact(Like({}).with_strides({0}).tensor));
}

TEST(IsCompact, IgnoresTheStrideOfAnExtentOfOne) {
  EXPECT_TRUE(is_compact(Like({1, 3}).with_strides({99, 1}).tensor));
  EXPECT_TRUE(is_compact(Like({2, 1, 3}).with_strides({3, -7, 1}).tensor));
}

TEST(IsCompact, IgnoresStridesWithoutElements) {
  EXPECT_TRUE(is_compact(Like({2, 0}).with_strides({5, 5}).tensor));
}

TEST(IsCompact, IsFalseForOtherStrides) {
  EXPECT_FALSE(is_compact(Like({2, 3}).with_strides({4, 1}).tensor));
  EXPECT_FALSE(is_compact(Like({2, 3}).with_strides({1, 2}).tensor));
  EXPECT_FALSE(is_compact(Like({3}).with_strides({-1}).tensor));
}

TEST(IsCompact, IsFalseIfStridesOverflow) {
  const std::int64_t huge = std::int64_t{1} << 62;

  EXPECT_FALSE(is_compact(Like({2, huge, 4}).with_strides({0, 4, 1}).tensor));
}

TEST(Describe, NamesTypeShapeAndDevice) {
  const DeviceSet devices;

  EXPECT_EQ(describe(Like({1, 64}).tensor, devices), "float32[1, 64] on cpu:0");
  EXPECT_EQ(describe(Like({}).tensor, devices), "float32[] on cpu:0");
  EXPECT_EQ(describe(Like({3}, kByte, {7, 2}).tensor, devices), "uint8[3] on vulkan:2");
  EXPECT_EQ(describe(Like({3}, kByte, {99, 0}).tensor, devices), "uint8[3] on device 99:0");
}

TEST(Describe, TruncatesALongShape) {
  const std::string text = describe(Like(std::vector<std::int64_t>(40, 1)).tensor, DeviceSet());

  EXPECT_EQ(text, "float32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...] on cpu:0");
}

TEST(TensorNew, AlignsItsDataAndCopiesTheShape) {
  const DeviceSet devices;
  Like like({2, 3});

  const auto tensor = make(devices, like);
  like.shape[0] = 99;

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->tensor.data) % kTensorAlignment, 0u);
  EXPECT_THAT(std::span(tensor->tensor.shape, 2), ElementsAre(2, 3));
  EXPECT_EQ(tensor->bytes, 24u);
  EXPECT_EQ(tensor->tensor.strides, nullptr);
  EXPECT_EQ(tensor->header.kind, GANTRY_TENSOR);
}

TEST(TensorNew, IgnoresDataStridesAndOffset) {
  const DeviceSet devices;
  int elsewhere = 0;
  const Like like = Like({2, 3}).with_strides({9, 9}).over(&elsewhere, 5);

  const auto tensor = make(devices, like);

  EXPECT_NE(tensor->tensor.data, &elsewhere);
  EXPECT_EQ(tensor->tensor.strides, nullptr);
  EXPECT_EQ(tensor->tensor.byte_offset, 0u);
}

TEST(TensorNew, IsReadableAsAValue) {
  const Value value = owned_value(make(DeviceSet(), Like({2})));

  const gantry_tensor* const tensor = gantry_value_tensor(&value.get());

  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape[0], 2);
}

TEST(TensorNew, FreesItsMemory) {
  const DeviceSet devices;
  const std::int64_t before = cpu_bytes();

  for (int i = 0; i < 1000; ++i) {
    const auto tensor = make(devices, Like({i, 17}));
    EXPECT_GE(cpu_bytes(), before + i * 17 * 4);
  }

  EXPECT_EQ(cpu_bytes(), before);
}

TEST(TensorNew, PassesShapeScopeAndAlignmentToTheDevice) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);

  {
    const auto tensor = tensor_new(devices, Like({2, 3}, kFloat, {type, 5}).tensor, "texture");
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  }

  EXPECT_THAT(npu.calls,
              ElementsAre("alloc 24 bytes at 256, rank 2, scope texture, on 5", "free on 5"));
}

TEST(TensorNew, KeepsTheOwnerOfTheDeviceSetUntilItsMemoryIsFreed) {
  FakeDevice npu("npu");
  int blocks_at_the_end = -1;
  const auto end = [&](DeviceSet* devices) {
    blocks_at_the_end = npu.blocks;
    delete devices;
  };
  std::shared_ptr<DeviceSet> owner(new DeviceSet, end);
  owner->keep(owner);
  const std::int32_t type = npu.add_to(*owner);
  Ref<TensorObject> tensor = make(*owner, Like({4}, kFloat, {type, 0}));

  owner.reset();
  EXPECT_EQ(blocks_at_the_end, -1) << "the tensor keeps the owner";
  tensor = {};

  EXPECT_EQ(blocks_at_the_end, 0);
}

TEST(TensorNew, ReportsTheDevicesErrorWithTheTensor) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  npu.fails_with = GANTRY_EXHAUSTED;

  const auto tensor = tensor_new(devices, Like({2, 3}, kFloat, {type, 0}).tensor);

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Code::exhausted);
  EXPECT_EQ(tensor.error().reason, "FAKE");
  EXPECT_EQ(tensor.error().message,
            "the fake device fails\n  while making tensor float32[2, 3] on npu:0");
}

// ---- memory of the host for a device

TEST(TensorNewOfScopeHost, IsOnTheCpuInMemoryOfTheDevice) {
  DeviceSet devices;
  FakeDevice npu("npu");
  npu.has_host_scope = true;
  npu.attributes = {{GANTRY_ATTRIBUTE_PADDING, 4096}, {GANTRY_ATTRIBUTE_MAX_ALLOCATION, 1}};
  devices.limit_memory("npu", 4, "the test");
  const std::int32_t type = npu.add_to(devices);

  {
    const auto tensor = tensor_new(devices, Like({2, 3}, kFloat, {type, 1}).tensor, "host");

    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ((*tensor)->tensor.device.type, kCpu);
    EXPECT_EQ((*tensor)->tensor.device.index, 0);
    EXPECT_THAT(npu.host_memory, ElementsAre((*tensor)->tensor.data));
  }
  EXPECT_THAT(npu.calls,
              ElementsAre("alloc 24 bytes at 256, rank 2, scope host, on 1", "free on 1"));
  EXPECT_TRUE(npu.host_memory.empty());
}

TEST(TensorNewOfScopeHost, IsPlainMemoryIfTheDeviceHasNoSuchScope) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const std::int64_t before = cpu_bytes();

  for (const gantry_device_id id : {gantry_device_id{type, 0}, gantry_device_id{kCpu, 0}}) {
    const auto tensor = tensor_new(devices, Like({2, 3}, kFloat, id).tensor, "host");
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ((*tensor)->tensor.device.type, kCpu);
    EXPECT_GT(cpu_bytes(), before);
  }
  EXPECT_EQ(cpu_bytes(), before);
  EXPECT_THAT(npu.calls, ElementsAre("alloc 24 bytes at 256, rank 2, scope host, on 0"));
}

TEST(TensorNewOfScopeHost, ReportsOtherFailuresOfTheDevice) {
  DeviceSet devices;
  FakeDevice npu("npu");
  npu.fails_with = GANTRY_EXHAUSTED;
  const std::int32_t type = npu.add_to(devices);

  const auto tensor = tensor_new(devices, Like({2}, kByte, {type, 0}).tensor, "host");

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Code::exhausted);
}

// ---- what a device demands

TEST(TensorNew, HasTheAlignmentAndPaddingThatTheDeviceDemands) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  npu.attributes = {{GANTRY_ATTRIBUTE_ALIGNMENT, 4096}, {GANTRY_ATTRIBUTE_PADDING, 48}};
  const auto allocate = [&](std::int64_t bytes, std::int32_t index) {
    return tensor_new(devices, Like({bytes}, kByte, {type, index}).tensor);
  };

  for (const std::int64_t bytes : {0, 1, 48, 49}) {
    const auto tensor = allocate(bytes, 0);
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(npu.last_alloc.alignment, 4096u);
    EXPECT_EQ(npu.last_alloc.size, static_cast<std::uint64_t>((bytes + 47) / 48 * 48));
    EXPECT_EQ((*tensor)->bytes, static_cast<std::uint64_t>(bytes));
  }
  EXPECT_EQ(npu.attribute_reads, 4) << "demands are read once";
  ASSERT_TRUE(allocate(1, 1).ok());
  EXPECT_EQ(npu.attribute_reads, 8) << "and once for the other device";
  npu.attributes = {{GANTRY_ATTRIBUTE_ALIGNMENT, 16}};
  ASSERT_TRUE(allocate(1, 2).ok());
  EXPECT_EQ(npu.last_alloc.alignment, kTensorAlignment) << "a smaller one changes nothing";
}

TEST(TensorNew, RefusesMoreThanTheDeviceAllocatesAtOnce) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  npu.attributes = {{GANTRY_ATTRIBUTE_PADDING, 16}, {GANTRY_ATTRIBUTE_MAX_ALLOCATION, 64}};
  const auto allocate = [&](std::int64_t bytes) {
    return tensor_new(devices, Like({bytes}, kByte, {type, 0}).tensor);
  };

  ASSERT_TRUE(allocate(64).ok());
  const auto refused = allocate(65);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::exhausted);
  EXPECT_EQ(refused.error().reason, "DEVICE_MEMORY");
  EXPECT_EQ(refused.error().message,
            "device npu: alloc of 80 bytes, limit of one allocation is 64 bytes\n"
            "  while making tensor uint8[65] on npu:0");
  EXPECT_EQ(npu.blocks, 0);
}

TEST(TensorNew, ReportsADemandThatIsNone) {
  const std::pair<std::int32_t, std::int64_t> wrong[] = {
      {GANTRY_ATTRIBUTE_ALIGNMENT, 48},       {GANTRY_ATTRIBUTE_ALIGNMENT, 0},
      {GANTRY_ATTRIBUTE_PADDING, 0},          {GANTRY_ATTRIBUTE_MAX_ALLOCATION, -1},
      {GANTRY_ATTRIBUTE_SHARED_ADDRESSES, 4}, {GANTRY_ATTRIBUTE_SHARED_ADDRESSES, 2}};
  const auto rest = [](std::int32_t kind, std::int64_t number) {
    if (kind == GANTRY_ATTRIBUTE_ALIGNMENT) return ", expected a power of two";
    if (kind != GANTRY_ATTRIBUTE_SHARED_ADDRESSES) return ", expected a positive number of bytes";
    return number == 4 ? ", expected 0 to 3" : ", and its memory has handles, no addresses";
  };
  for (const auto& [kind, number] : wrong) {
    DeviceSet devices;
    FakeDevice npu("npu");
    const std::int32_t type = npu.add_to(devices);
    npu.attributes = {{kind, number}};

    const auto tensor = tensor_new(devices, Like({2}, kByte, {type, 0}).tensor);

    ASSERT_FALSE(tensor.ok());
    EXPECT_EQ(tensor.error().code, Code::bug);
    EXPECT_EQ(tensor.error().reason, "DEVICE_DEMAND");
    EXPECT_EQ(tensor.error().message,
              concat("device npu: attribute ", kind, " is ", number, rest(kind, number),
                     "\n  while making tensor uint8[2] on npu:0"));
    EXPECT_EQ(npu.blocks, 0);
  }
}

TEST(TensorNew, IsRepeatedOnceAfterTheDeviceHasReturnedMemory) {
  DeviceSet devices;
  FakeDevice npu("npu");
  npu.has_trim();
  const std::int32_t type = npu.add_to(devices);
  const std::string alloc = "alloc 2 bytes at 256, rank 1, scope , on 1";
  const auto allocate = [&] {
    return tensor_new(devices, Like({2}, kByte, {type, 1}).tensor).ok();
  };

  npu.exhausted_before_trim = 1;
  EXPECT_TRUE(allocate());
  EXPECT_THAT(npu.calls, ElementsAre(alloc, "trim on 1", alloc, "free on 1"));
  npu.calls.clear();
  npu.exhausted_before_trim = 2;
  EXPECT_FALSE(allocate());
  EXPECT_THAT(npu.calls, ElementsAre(alloc, "trim on 1", alloc));
}

TEST(TensorNew, IsNotRepeatedAfterOtherFailures) {
  DeviceSet devices;
  FakeDevice npu("npu");
  npu.has_trim();
  const std::int32_t type = npu.add_to(devices);
  npu.fails_with = GANTRY_UNSUPPORTED;

  EXPECT_FALSE(tensor_new(devices, Like({2}, kByte, {type, 0}).tensor).ok());

  EXPECT_THAT(npu.calls, ElementsAre("alloc 2 bytes at 256, rank 1, scope , on 0"));
}

// ---- limits of memory

// What an allocation that fails has counted is returned, whatever fails.
TEST(TensorNew, CountsNothingAgainstTheLimitIfItFails) {
  DeviceSet devices;
  FakeDevice npu("npu");
  devices.limit_memory("npu", 64, "the test");
  const std::int32_t type = npu.add_to(devices);
  const auto allocate = [&](std::int64_t bytes) {
    return tensor_new(devices, Like({bytes}, kByte, {type, 0}).tensor);
  };

  npu.fails_with = GANTRY_EXHAUSTED;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(allocate(40).error().reason, "FAKE");
  npu.fails_with = GANTRY_OK;
  npu.gives_null = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(allocate(40).error().reason, "DEVICE_ALLOC");
  npu.gives_null = false;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(allocate(65).error().reason, "MEMORY_LIMIT");

  EXPECT_TRUE(allocate(64).ok());
  EXPECT_TRUE(allocate(64).ok()) << "the tensor before is released";
}

TEST(TensorNew, HasTheWholeLimitAndNoByteMore) {
  DeviceSet devices;
  FakeDevice npu("npu"), other("other");
  const std::int32_t type = npu.add_to(devices), unlimited = other.add_to(devices);
  devices.limit_memory("npu", 64, "the test");
  const auto allocate = [&](std::int64_t bytes, gantry_device_id device) {
    return tensor_new(devices, Like({bytes}, kByte, device).tensor);
  };
  // All devices of the kind together.
  const auto first = allocate(32, {type, 0}), second = allocate(32, {type, 1});
  ASSERT_TRUE(first.ok() && second.ok());

  const auto refused = allocate(1, {type, 0});

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "MEMORY_LIMIT");
  EXPECT_THAT(refused.error().message.text(),
              ::testing::StartsWith("device npu: alloc of 1 bytes with 64 bytes in use, limit is "
                                    "64 bytes (the test)"));
  EXPECT_TRUE(allocate(0, {type, 0}).ok());
  EXPECT_TRUE(allocate(1000, {unlimited, 0}).ok());
}

TEST(TensorNew, RejectsADeviceThatReturnsNull) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  npu.gives_null = true;

  const auto tensor = tensor_new(devices, Like({2}, kFloat, {type, 0}).tensor);

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Code::bug);
  EXPECT_EQ(tensor.error().message,
            "device npu: alloc of 8 bytes succeeds but returns NULL\n"
            "  while making tensor float32[2] on npu:0");
}

TEST(TensorNew, RejectsAnUnknownDevice) {
  const auto tensor = tensor_new(DeviceSet(), Like({2}, kFloat, {2, 0}).tensor);

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Code::not_found);
  EXPECT_EQ(tensor.error().message, "device number 2 (cuda) not found; devices: cpu");
}

TEST(TensorNew, RejectsAShapeThatOverflows) {
  const auto tensor = tensor_new(DeviceSet(), Like({INT64_MAX, 4}).tensor);

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Code::invalid);
  EXPECT_EQ(tensor.error().message,
            "tensor dimension 0 is 9223372036854775807, room for 2305843009213693951");
}

TEST(TensorView, KeepsItsOwnerAndFreesNothing) {
  const DeviceSet devices;
  auto whole = make(devices, Like({4, 2}));
  const TensorObject* const owner = whole.get();
  const std::int64_t before = cpu_bytes();

  auto half = tensor_view(Like({2, 2}).over(whole->tensor.data, 16).tensor, whole.base()).value();
  whole = {};

  EXPECT_EQ(cpu_bytes(), before) << "the view keeps the memory";
  EXPECT_EQ(half->owner.base(), &owner->header);
  EXPECT_EQ(half->tensor.byte_offset, 16u);
  EXPECT_EQ(half->bytes, 16u);
  half = {};
  EXPECT_LT(cpu_bytes(), before);
}

TEST(TensorView, CopiesShapeAndStrides) {
  float data[12] = {};
  Like like = Like({2, 3}).with_strides({6, 2}).over(data);

  const auto view = tensor_view(like.tensor, nullptr).value();
  like.shape[0] = like.strides[0] = 99;

  EXPECT_EQ(view->tensor.data, data);
  EXPECT_THAT(std::span(view->tensor.shape, 2), ElementsAre(2, 3));
  EXPECT_THAT(std::span(view->tensor.strides, 2), ElementsAre(6, 2));
}

TEST(TensorView, RejectsElementsAtAddressZero) {
  const auto view = tensor_view(Like({2}).tensor, nullptr);

  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::invalid);
  EXPECT_EQ(view.error().message, "tensor view of 8 bytes is at address 0");
}

TEST(TensorView, RejectsAShapeThatOverflows) {
  float data = 0;

  const auto view = tensor_view(Like({INT64_MAX, 4}).over(&data).tensor, nullptr);

  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::invalid);
}

TEST(TensorNew, DescribesTheTensorToTheDevice) {
  DeviceSet devices;
  FakeDevice npu("npu");
  const std::int32_t type = npu.add_to(devices);
  const Like like({2, 3}, kFloat, {type, 0});

  const auto tensor = make(devices, like);

  EXPECT_EQ(npu.last_alloc.struct_size, sizeof(gantry_alloc));
  EXPECT_EQ(npu.last_alloc.shape, like.shape.data());
  EXPECT_TRUE(same_dtype(npu.last_alloc.dtype, kFloat));
}

// The CPU with blocks whose addresses are not aligned.
TEST(TensorNew, RejectsAndFreesMemoryThatIsNotAligned) {
  static int blocks;
  blocks = 0;
  gantry_device_table table = *cpu_device_table();
  table.type = 0;
  table.alloc = [](void*, std::int32_t, const gantry_alloc*, void** data,
                   gantry_status*) -> gantry_code {
    ++blocks;
    *data = reinterpret_cast<void*>(8);
    return GANTRY_OK;
  };
  table.free = [](void*, std::int32_t, void*) { --blocks; };
  DeviceSet devices;
  const std::int32_t type = devices.add("npu", nullptr, &table).value();

  const auto tensor = tensor_new(devices, Like({2}, kFloat, {type, 0}).tensor);

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Code::bug);
  EXPECT_EQ(tensor.error().reason, "DEVICE_ALLOC");
  EXPECT_EQ(tensor.error().message,
            "device npu: alloc of 8 bytes returns an address that is not a multiple of 256\n"
            "  while making tensor float32[2] on npu:0");
  EXPECT_EQ(blocks, 0);
}

TEST(TensorView, AcceptsNoElementsAtAddressZero) {
  EXPECT_TRUE(tensor_view(Like({0}).tensor, nullptr).ok());
}

}  // namespace
}  // namespace gantry
