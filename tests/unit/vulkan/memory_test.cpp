// SPDX-License-Identifier: Apache-2.0
//
// Many buffers use few allocations of the driver.
#include "tests/unit/vulkan/between.hpp"
#include "tests/unit/vulkan/world.hpp"

#include <gantry/byte_count.hpp>

namespace gantry::vulkan::test {
namespace {

class Allocations : public World {
 protected:
  void TearDown() override {
    World::TearDown();
    between.max_allocations = ~std::size_t{0};
    EXPECT_EQ(between.allocations, 0u) << "the device has not freed all blocks";
  }
};

// Many drivers allow 4,096 allocations; the test's limit is 8.
TEST_F(Allocations, AreFewForManyBuffers) {
  between.max_allocations = 8;
  std::vector<void*> all;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto data = alloc(64);
    ASSERT_TRUE(data.ok()) << "after " << i << ": " << data.error().message;
    all.push_back(*data);
  }
  for (std::uint32_t i = 0; i < all.size(); i += 7)
    ASSERT_TRUE(copy(on_host(&i), on_device(all[i], 60), sizeof i).ok());

  for (std::uint32_t i = 0; i < all.size(); i += 7) {
    std::uint32_t back = 0;
    ASSERT_TRUE(copy(on_device(all[i], 60), on_host(&back), sizeof back).ok());
    ASSERT_EQ(back, i);
  }
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES)->get().i, 5000 * 64);
  EXPECT_EQ(device().allocation_count(), between.allocations);
  for (void* const data : all) free(data);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES)->get().i, 0);
}

TEST_F(Allocations, WaitForFreedMemoryAtTheLimit) {
  // Large enough for a separate allocation.
  constexpr std::uint64_t size = 40 << 20;
  void* const one = alloc(size).value();
  void* const other = alloc(size).value();
  between.max_allocations = between.allocations.load();
  ASSERT_TRUE(copy(on_device(one), on_device(other), size).ok());

  const auto refused = alloc(size);
  // The copy is in flight.
  free(one);
  const auto given = alloc(size);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::exhausted);
  EXPECT_EQ(refused.error().reason, "DRIVER_CALL");
  EXPECT_EQ(refused.error().message,
            concat("vkAllocateMemory returns VK_ERROR_TOO_MANY_OBJECTS (-10)\n  while allocating ",
                   ByteCount(size)));
  ASSERT_TRUE(given.ok()) << given.error().message;
  free(*given);
  free(other);
}

}  // namespace
}  // namespace gantry::vulkan::test
