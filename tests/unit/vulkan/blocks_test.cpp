// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

namespace gantry::vulkan::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t MiB = 1 << 20;

TEST(FreeRanges, TakeFromTheSmallestRangeThatFits) {
  FreeRanges free(4096, 256);
  ASSERT_EQ(free.take(1024, 1), 0u);
  ASSERT_EQ(free.take(256, 1), 1024u);
  ASSERT_EQ(free.take(512, 1), 1280u);
  ASSERT_EQ(free.take(256, 1), 1792u);
  free.release(0, 1024);
  free.release(1280, 512);

  EXPECT_EQ(free.take(300, 1), 1280u) << "300 bytes are rounded up to 512";
  EXPECT_EQ(free.take(1, 1), 0u);
  EXPECT_EQ(free.take(2049, 1), std::nullopt);
  EXPECT_EQ(free.take(2048, 1), 2048u);
}

TEST(FreeRanges, MergeInAnyOrderOfFreeing) {
  for (const auto& order :
       {std::array{0, 1, 2}, std::array{2, 1, 0}, std::array{1, 0, 2}, std::array{0, 2, 1}}) {
    FreeRanges free(768, 256);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(free.take(256, 1));
    EXPECT_FALSE(free.all_free());

    for (const int i : order) free.release(256 * static_cast<std::uint64_t>(i), 256);

    EXPECT_TRUE(free.all_free());
    EXPECT_EQ(free.take(768, 1), 0u);
  }
}

TEST(FreeRanges, SupportAlignmentsAboveTheGranule) {
  FreeRanges free(16384, 256);
  ASSERT_EQ(free.take(256, 1), 0u);

  EXPECT_EQ(free.take(512, 4096), 4096u);
  EXPECT_EQ(free.take(3840, 1), 256u) << "the skipped bytes stay free";
}

TEST(FreeRanges, RejectASizeAboveTheBlock) {
  FreeRanges free(4096, 256);

  EXPECT_EQ(free.take(4097, 1), std::nullopt);
  EXPECT_EQ(free.take(~std::uint64_t{0}, 1), std::nullopt);
  EXPECT_EQ(free.take(4096, 1), 0u);
  EXPECT_EQ(free.take(0, 1), std::nullopt) << "0 bytes occupy one granule";
}

// Each part's bytes are marked with its number, which detects a byte in two parts.
TEST(FreeRanges, NeverOverlapParts) {
  constexpr std::uint64_t size = 256 * 1024;
  FreeRanges free(size, 256);
  std::vector<std::uint32_t> owner(size / 256, 0);
  struct Taken {
    std::uint64_t offset, size;
    std::uint32_t number;
  };
  std::vector<Taken> taken;
  std::mt19937 random(20261122);
  for (std::uint32_t number = 1; number <= 20000; ++number) {
    if (taken.empty() || random() % 2 == 0) {
      const std::uint64_t wanted = 1 + random() % (random() % 8 == 0 ? 40000 : 2000);
      const std::uint64_t alignment = random() % 4 == 0 ? 1024 : 64;
      const auto offset = free.take(wanted, alignment);
      if (!offset) continue;
      ASSERT_EQ(*offset % alignment, 0u);
      ASSERT_LE(*offset + wanted, size);
      for (std::uint64_t at = *offset / 256; at < (*offset + wanted + 255) / 256; ++at) {
        ASSERT_EQ(owner[at], 0u) << "part " << number;
        owner[at] = number;
      }
      taken.push_back({*offset, wanted, number});
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      const Taken part = taken.back();
      taken.pop_back();
      for (std::uint64_t at = part.offset / 256; at < (part.offset + part.size + 255) / 256; ++at) {
        ASSERT_EQ(owner[at], part.number);
        owner[at] = 0;
      }
      free.release(part.offset, part.size);
    }
  }
  for (const Taken& part : taken) free.release(part.offset, part.size);
  EXPECT_TRUE(free.all_free());
}

// A driver with two memory types, which numbers its allocations.
class FakeMemory final : public BlockSource {
 public:
  Result<VkDeviceMemory> allocate(std::uint32_t type, std::uint64_t size) override {
    asked.push_back(size);
    if (is_lost) return unavailable("lost").with_reason("DRIVER_CALL");
    if (alive.size() >= max_allocations || bytes() + size > max_bytes)
      return exhausted("no more").with_reason("DRIVER_CALL");
    alive.push_back({++last, type, size});
    return reinterpret_cast<VkDeviceMemory>(last);
  }
  Result<std::uint8_t*> map(VkDeviceMemory) override {
    ++maps;
    if (maps > max_maps) return unavailable("not mapped").with_reason("DRIVER_CALL");
    return mapped;
  }
  void free(VkDeviceMemory memory) override {
    const auto number = reinterpret_cast<std::uintptr_t>(memory);
    EXPECT_EQ(std::erase_if(alive, [&](const auto& one) { return one.number == number; }), 1u);
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& one : alive) sum += one.size;
    return sum;
  }

  struct Allocation {
    std::uintptr_t number;
    std::uint32_t type;
    std::uint64_t size;
  };
  std::vector<Allocation> alive;
  std::vector<std::uint64_t> asked;
  bool is_lost = false;
  std::size_t max_allocations = 4096;
  std::uint64_t max_bytes = ~std::uint64_t{0};
  int maps = 0;
  int max_maps = 1000;
  std::uint8_t mapped[1] = {};

 private:
  std::uintptr_t last = 0;
};

struct BlocksTest : public ::testing::Test {
  Result<Part> take(std::uint64_t size, std::uint32_t type = 0, bool is_mapped = false) {
    return blocks.take({type, size, 64, is_mapped});
  }
  std::vector<Part> take_many(int count, std::uint64_t size) {
    std::vector<Part> parts;
    for (int i = 0; i < count; ++i) parts.push_back(take(size).value());
    return parts;
  }

  FakeMemory memory;
  Blocks blocks{memory, {.largest = {64 * MiB, 16 * MiB}, .granule = 256}};
};

// Many drivers allow 4,096 allocations.
TEST_F(BlocksTest, HoldMorePartsThanTheAllocationLimit) {
  const std::vector<Part> parts = take_many(20000, 1000);

  EXPECT_EQ(blocks.count(), 3u) << "4, 8 and 16 MiB";
  std::vector<std::pair<VkDeviceMemory, std::uint64_t>> locations;
  for (const Part& part : parts) locations.emplace_back(part.memory(), part.offset());
  std::ranges::sort(locations);
  EXPECT_EQ(std::ranges::adjacent_find(locations), locations.end());
}

TEST_F(BlocksTest, GrowToTheMaximumSize) {
  const std::vector<Part> parts = take_many(200, MiB);

  EXPECT_THAT(memory.asked,
              ElementsAre(4 * MiB, 8 * MiB, 16 * MiB, 32 * MiB, 64 * MiB, 64 * MiB, 64 * MiB));
}

TEST_F(BlocksTest, AllocateLargePartsSeparately) {
  auto just = take(32 * MiB);
  auto large = take(32 * MiB + 1);

  ASSERT_TRUE(just.ok() && large.ok());
  EXPECT_THAT(memory.asked, ElementsAre(32 * MiB, 32 * MiB + 1));
  EXPECT_NE(just->memory(), large->memory());
  EXPECT_EQ(large->offset(), 0u);
  EXPECT_EQ(large->size(), 32 * MiB + 1);
  large = Part();
  EXPECT_EQ(memory.alive.size(), 1u) << "the part's memory is freed with it";
  just = Part();
  EXPECT_EQ(memory.alive.size(), 1u) << "a block's memory is kept";
}

TEST_F(BlocksTest, HaveOneMemoryType) {
  const auto one = take(100, 0);
  const auto other = take(100, 1);

  EXPECT_NE(one->memory(), other->memory());
  ASSERT_EQ(memory.alive.size(), 2u);
  EXPECT_EQ(memory.alive[1].type, 1u);
  const auto more = take(9 * MiB, 1);
  EXPECT_EQ(memory.alive.back().size, 9 * MiB)
      << "the limit of parts in this type's blocks is 8 MiB";
}

TEST_F(BlocksTest, KeepOneEmptyBlock) {
  std::vector<Part> parts = take_many(12, MiB);
  ASSERT_EQ(memory.alive.size(), 2u);

  parts.clear();
  EXPECT_EQ(memory.alive.size(), 1u);

  for (int i = 0; i < 100; ++i) ASSERT_TRUE(take(MiB).ok());
  EXPECT_EQ(memory.asked.size(), 2u) << "no other block is allocated";
}

TEST_F(BlocksTest, ReturnEmptyBlocksWhenTheyAreTrimmed) {
  const auto used = take(MiB, 1);
  take_many(4, MiB);
  ASSERT_EQ(memory.alive.size(), 2u) << "an empty block is kept";

  blocks.trim();

  ASSERT_EQ(memory.alive.size(), 1u);
  EXPECT_EQ(memory.alive[0].type, 1u);
}

TEST_F(BlocksTest, KeepAnEmptyBlockBesideBlocksInUse) {
  const auto alone = take(50 * MiB);
  std::vector<Part> first = take_many(4, MiB);
  std::vector<Part> second = take_many(1, MiB);
  ASSERT_EQ(memory.alive.size(), 3u);

  second.clear();

  EXPECT_EQ(memory.alive.size(), 3u);
}

TEST_F(BlocksTest, AreNotSmallerAfterOtherErrors) {
  memory.is_lost = true;

  const auto part = take(1000);

  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().message, "lost");
  EXPECT_THAT(memory.asked, ElementsAre(4 * MiB));
}

TEST_F(BlocksTest, MapEachBlockOnceAndOnlyOnRequest) {
  const auto unmapped = take(1000);
  EXPECT_EQ(memory.maps, 0);
  EXPECT_EQ(unmapped->mapped(), nullptr);

  const auto one = take(1000, 0, true);
  const auto other = take(1000, 0, true);

  EXPECT_EQ(memory.maps, 1);
  EXPECT_EQ(one->mapped(), memory.mapped + one->offset());
  EXPECT_EQ(other->mapped(), memory.mapped + other->offset());
  EXPECT_EQ(other->size(), 1024u) << "whole granules, the range that may be flushed";
}

TEST_F(BlocksTest, FreeTheMemoryAfterMappingFails) {
  memory.max_maps = 0;

  const auto small = take(1000, 0, true);
  const auto large = take(50 * MiB, 0, true);

  for (const auto* part : {&small, &large}) {
    ASSERT_FALSE(part->ok());
    EXPECT_EQ(part->error().code, Code::unavailable);
    EXPECT_EQ(part->error().message, "not mapped");
  }
  EXPECT_THAT(memory.alive, IsEmpty());
  EXPECT_EQ(blocks.count(), 0u);
}

TEST_F(BlocksTest, AreSmallerIfMemoryIsShort) {
  memory.max_bytes = 11 * MiB;
  std::vector<Part> parts = take_many(4, MiB);

  parts.push_back(take(MiB).value());

  ASSERT_EQ(memory.alive.size(), 2u);
  EXPECT_EQ(memory.alive[1].size, 4 * MiB) << "8 MiB are not available";
}

TEST_F(BlocksTest, FreeEmptyBlocksBeforeTheyFail) {
  memory.max_bytes = 50 * MiB;
  ASSERT_TRUE(take(10 * MiB).ok());
  ASSERT_EQ(memory.bytes(), 16 * MiB) << "the empty block is kept";

  const auto large = take(40 * MiB);

  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ(memory.bytes(), 40 * MiB);
}

TEST_F(BlocksTest, ReportOutOfMemory) {
  memory.max_allocations = 2;
  const std::vector<Part> parts = take_many(2, 50 * MiB);

  const auto small = take(1000);
  const auto large = take(50 * MiB);

  for (const auto* part : {&small, &large}) {
    ASSERT_FALSE(part->ok());
    EXPECT_EQ(part->error().code, Code::exhausted);
    EXPECT_EQ(part->error().message, "no more");
  }
  EXPECT_EQ(blocks.count(), 2u);
}

TEST_F(BlocksTest, AreThreadSafe) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      std::vector<Part> parts;
      for (int round = 0; round < 2000; ++round) {
        if (parts.size() > 20) parts.erase(parts.begin() + static_cast<long>(random() % 20));
        parts.push_back(take(1 + random() % MiB).value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(blocks.count(), 1u);
}

TEST(LargestBlock, IsAnEighthOfASmallHeap) {
  EXPECT_EQ(largest_block(std::uint64_t{80} << 30), 64 * MiB);
  EXPECT_EQ(largest_block(512 * MiB), 64 * MiB);
  EXPECT_EQ(largest_block(256 * MiB), 32 * MiB);
  EXPECT_EQ(largest_block(200 * MiB), 16 * MiB) << "a power of two";
  EXPECT_EQ(largest_block(0), std::uint64_t{64} << 10);
}

}  // namespace
}  // namespace gantry::vulkan::test
