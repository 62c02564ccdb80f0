// SPDX-License-Identifier: Apache-2.0
#include "core/writing/storage_plan.hpp"

#include <gmock/gmock.h>

#include <random>

namespace gantry {
namespace {

using ::testing::ElementsAre;

TEST(StoragePlan, ReusesAFreedSlot) {
  const std::vector<TensorLife> tensors = {{.bytes = 8, .first = 0, .last = 1},
                                           {.bytes = 8, .first = 1, .last = 2},
                                           {.bytes = 8, .first = 2, .last = 3},
                                           {.bytes = 8, .first = 3, .last = 3}};

  EXPECT_THAT(plan_storage(tensors), ElementsAre(0, 1, 0, 1));
}

// The last reader of a tensor writes its own output while it reads.
TEST(StoragePlan, SeparatesAnOutputFromItsInput) {
  const std::vector<TensorLife> tensors = {{.bytes = 8, .first = 0, .last = 1},
                                           {.bytes = 8, .first = 1, .last = 1}};

  EXPECT_THAT(plan_storage(tensors), ElementsAre(0, 1));
}

TEST(StoragePlan, TakesTheSmallestSlotThatFits) {
  const std::vector<TensorLife> tensors = {{.bytes = 100, .first = 0, .last = 0},
                                           {.bytes = 10, .first = 0, .last = 0},
                                           {.bytes = 9, .first = 1, .last = 1}};

  EXPECT_THAT(plan_storage(tensors), ElementsAre(0, 1, 1));
}

TEST(StoragePlan, TakesASlotOfEqualSizeInAnyOrder) {
  const auto slot_after = [](std::uint64_t first, std::uint64_t second) {
    return plan_storage(std::vector<TensorLife>{{.bytes = first, .first = 0, .last = 0},
                                                {.bytes = second, .first = 0, .last = 0},
                                                {.bytes = 8, .first = 1, .last = 1}})[2];
  };

  EXPECT_EQ(slot_after(8, 16), 0u);
  EXPECT_EQ(slot_after(16, 8), 1u);
  EXPECT_EQ(slot_after(8, 8), 0u);
}

TEST(StoragePlan, KeepsTheSizeOfASlotThatASmallerTensorUses) {
  const std::vector<TensorLife> tensors = {{.bytes = 100, .first = 0, .last = 0},
                                           {.bytes = 10, .first = 1, .last = 1},
                                           {.bytes = 60, .first = 1, .last = 1},
                                           {.bytes = 80, .first = 2, .last = 2}};

  EXPECT_THAT(plan_storage(tensors), ElementsAre(0, 0, 1, 0));
}

TEST(StoragePlan, GrowsTheLargestSlotIfNoneFits) {
  const std::vector<TensorLife> tensors = {{.bytes = 10, .first = 0, .last = 0},
                                           {.bytes = 100, .first = 0, .last = 0},
                                           {.bytes = 200, .first = 1, .last = 1}};

  EXPECT_THAT(plan_storage(tensors), ElementsAre(0, 1, 1));
}

TEST(StoragePlan, SharesNoMemoryOfPreservedTensors) {
  const std::vector<TensorLife> tensors = {{.bytes = 8, .first = 0, .last = 0, .shared = false},
                                           {.bytes = 8, .first = 1, .last = 1},
                                           {.bytes = 8, .first = 2, .last = 2, .shared = false},
                                           {.bytes = 8, .first = 3, .last = 3}};

  EXPECT_THAT(plan_storage(tensors), ElementsAre(0, 1, 2, 1));
}

// In random graphs, tensors that share a slot are never alive together.
TEST(StoragePlan, SeparatesTensorsThatAreAliveTogether) {
  std::mt19937 random(42);
  for (int graph = 0; graph < 200; ++graph) {
    std::vector<TensorLife> tensors;
    for (std::size_t t = 0, step = 0; t < 30; ++t, step += random() % 2) {
      tensors.push_back({random() % 1000, step, step + random() % 6, random() % 5 != 0});
    }

    const std::vector<std::size_t> slots = plan_storage(tensors);

    for (std::size_t a = 0; a < tensors.size(); ++a) {
      for (std::size_t b = a + 1; b < tensors.size(); ++b) {
        if (slots[a] != slots[b]) continue;
        EXPECT_TRUE(tensors[a].shared && tensors[b].shared) << "graph " << graph;
        EXPECT_LT(tensors[a].last, tensors[b].first) << "graph " << graph << ": " << a << ", " << b;
      }
    }
  }
}

}  // namespace
}  // namespace gantry
