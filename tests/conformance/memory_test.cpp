// SPDX-License-Identifier: Apache-2.0
//
// Cases 73, 74 and 78: the device count, memory, and the counter of attribute 1000.
#include "under_test.hpp"

#include <thread>

namespace gantry::conformance {
namespace {

class DeviceMemory : public DeviceTest {};

// 73
TEST_P(DeviceMemory, CountIsStableAndEveryDeviceExists) {
  const std::int32_t first = count();

  EXPECT_GE(first, 1);
  EXPECT_EQ(count(), first);
  for (std::int32_t i = 0; i < first; ++i) {
    const auto exists = attribute(i, GANTRY_ATTRIBUTE_EXISTS);
    ASSERT_TRUE(exists.ok()) << exists.error().message;
    EXPECT_EQ((*exists)->integer().value(), 1) << i;
  }
}

TEST_P(DeviceMemory, AnIndexBeyondTheCountDoesNotExistAndIsNoError) {
  for (const std::int32_t i : {-1, count(), INT32_MAX}) {
    const auto exists = attribute(i, GANTRY_ATTRIBUTE_EXISTS);
    ASSERT_TRUE(exists.ok()) << exists.error().message;
    EXPECT_EQ((*exists)->integer().value(), 0) << i;
  }
}

TEST_P(DeviceMemory, AnIndexBeyondTheCountIsInvalidInOtherFunctions) {
  for (const std::int32_t i : {-1, count(), INT32_MAX}) {
    const auto name = attribute(i, GANTRY_ATTRIBUTE_DEVICE_NAME);
    ASSERT_FALSE(name.ok()) << i;
    EXPECT_EQ(name.error().code, Code::invalid) << name.error().message;
    const auto memory = alloc(16, 64, {}, i);
    ASSERT_FALSE(memory.ok()) << i;
    EXPECT_EQ(memory.error().code, Code::invalid) << memory.error().message;
    const Status waited = synchronize(nullptr, i);
    ASSERT_FALSE(waited.ok()) << i;
    EXPECT_EQ(waited.error().code, Code::invalid) << waited.error().message;
  }
}

TEST_P(DeviceMemory, AttributesAreOfTheirKindOrDoNotApply) {
  const std::vector<std::int32_t> texts = {4, 5, 8, 10, 12};
  for (std::int32_t kind = 0; kind <= 16; ++kind) {
    const auto value = attribute(0, kind);
    ASSERT_TRUE(value.ok()) << kind << ": " << value.error().message;
    if (!*value) continue;
    const bool is_text = std::find(texts.begin(), texts.end(), kind) != texts.end();
    EXPECT_EQ((*value)->text().ok(), is_text) << kind;
    EXPECT_EQ((*value)->integer().ok(), !is_text) << kind;
  }
  const auto unknown = attribute(0, 999);
  ASSERT_TRUE(unknown.ok()) << unknown.error().message;
  EXPECT_FALSE(*unknown) << "an unknown attribute has a value";
}

// 74
TEST_P(DeviceMemory, OfZeroBytesHasAnAddressAndCanBeFreed) {
  const auto first = alloc(0), second = alloc(0);

  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_NE(*first, nullptr);
  EXPECT_NE(*second, nullptr);
  EXPECT_NE(*first, *second) << "two allocations have one address";
  free(*first);
  free(*second);
}

TEST_P(DeviceMemory, IsAlignedAsRequestedUnlessItIsAHandle) {
  for (std::uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
    const auto memory = alloc(100, alignment);
    ASSERT_TRUE(memory.ok()) << alignment << ": " << memory.error().message;
    const auto address = reinterpret_cast<std::uintptr_t>(*memory);
    EXPECT_TRUE(is_opaque() || address % alignment == 0) << alignment;
    free(*memory);
  }
}

TEST_P(DeviceMemory, ThatIsTooLargeIsExhaustedAndTheDeviceContinues) {
  const auto huge = alloc(std::uint64_t{1} << 60);
  const auto block = alloc(4096);

  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, Code::exhausted) << huge.error().message;
  EXPECT_FALSE(huge.error().message.empty());
  ASSERT_TRUE(block.ok()) << block.error().message;
  free(*block);
}

TEST_P(DeviceMemory, OfTheGlobalScopeExists) {
  const auto named = alloc(64, 64, "global");
  const auto other = alloc(64, 64, "gantry.no_such_scope");

  ASSERT_TRUE(named.ok()) << named.error().message;
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::unsupported) << other.error().message;
  EXPECT_NE(other.error().message.text().find("gantry.no_such_scope"), std::string::npos)
      << other.error().message;
  free(*named);
}

TEST_P(DeviceMemory, OfNullCanBeFreed) { free(nullptr); }

TEST_P(DeviceMemory, IsAllocatedAndFreedByManyThreadsAtOnce) {
  const std::int64_t before = allocated_bytes();
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 50; ++k) {
        const auto memory = alloc(static_cast<std::uint64_t>(64 + 17 * t + k));
        if (!memory.ok()) {
          ++failed;
        } else {
          free(*memory);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failed, 0);
  ASSERT_TRUE(synchronize().ok());
  EXPECT_EQ(allocated_bytes(), before);
}

// 78
TEST_P(DeviceMemory, CounterReturnsToItsValueAfterFree) {
  const std::int64_t before = allocated_bytes();
  const auto memory = alloc(1 << 20);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  const std::int64_t meanwhile = allocated_bytes();
  free(*memory);
  ASSERT_TRUE(synchronize().ok());

  EXPECT_GE(meanwhile - before, 1 << 20);
  EXPECT_EQ(allocated_bytes(), before);
}

// 70, 78: repeated loads, calls and tensors.
TEST_P(DeviceMemory, CounterDoesNotGrowAfterTheFirstRun) {
  const auto cycle = [&] {
    const Function function = axpy2();
    const Tensor a = vector(100, 0, 1), b = vector(100, 5, 2), c = vector(100, 0, 0);
    const auto called = function(a, b, c);
    ASSERT_TRUE(called.ok()) << called.error().message;
    EXPECT_EQ(elements(c)[10], 10 + 2 * 25);
  };
  cycle();
  ASSERT_TRUE(synchronize().ok());
  const std::int64_t first = allocated_bytes();
  for (int k = 0; k < 10; ++k) cycle();
  ASSERT_TRUE(synchronize().ok());

  EXPECT_EQ(allocated_bytes(), first);
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceMemory, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
