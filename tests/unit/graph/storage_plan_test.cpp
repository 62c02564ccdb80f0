// SPDX-License-Identifier: Apache-2.0
#include "plugins/graph/storage_plan.hpp"

#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

Result<StoragePlan> plan(const std::string& text,
                         std::vector<gantry_device_id> devices = {4, gantry_device_id{1, 0}}) {
  const Result<Graph> graph = read_graph_json(text, 0);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return plan_storage(*graph, devices);
}

TEST(StoragePlan, AssignsAReshapeTheValueOfItsInput) {
  const Result<StoragePlan> planned = plan(small_graph);

  ASSERT_TRUE(planned.ok()) << planned.error().message;
  EXPECT_EQ(planned->slots.size(), 3u);
  EXPECT_EQ(planned->value_of[2], planned->value_of[3]);
  EXPECT_THAT(planned->values[planned->value_of[2]].entries, ElementsAre(2, 3));
  EXPECT_EQ(planned->values[planned->value_of[0]].inputs, 1u);
  EXPECT_FALSE(planned->slot_of(0).written);
  EXPECT_TRUE(planned->slot_of(3).written);
}

TEST(StoragePlan, CountsTheInputsOfAReshape) {
  std::string both = replaced(small_graph, "[0,1,2,2]", "[2,2,1,2]");
  both = replaced(both, R"("__nop","num_inputs":"1")", R"("__nop","num_inputs":"2")");
  both = replaced(both, R"("inputs":[[2,0,0]]})", R"("inputs":[[0,0,0],[1,0,0]]})");

  const Result<StoragePlan> planned = plan(both);

  ASSERT_TRUE(planned.ok()) << planned.error().message;
  const StoredValue& value = planned->values[planned->value_of[3]];
  EXPECT_THAT(value.entries, UnorderedElementsAre(0, 1, 3));
  EXPECT_EQ(value.inputs, 2u);
}

TEST(StoragePlan, SeparatesValuesThatShareASlot) {
  const Result<StoragePlan> planned = plan(replaced(small_graph, "[0,1,2,2]", "[2,1,2,2]"));

  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->slots.size(), 2u);
  EXPECT_NE(planned->value_of[0], planned->value_of[2]);
  EXPECT_TRUE(planned->slot_of(0).written);
}

TEST(StoragePlan, MakesASlotAsLargeAsItsLargestEntry) {
  const Result<StoragePlan> planned =
      plan(replaced(replaced(small_graph, "[0,1,2,2]", "[2,1,2,2]"), "[[2,2]", "[[2,9]"));

  EXPECT_EQ(planned->slot_of(2).bytes, 72u);
}

// Old compilers write -1 for an entry with a separate slot.
TEST(StoragePlan, AssignsEntriesWithoutStorageASlotEach) {
  const Result<StoragePlan> planned = plan(replaced(small_graph, "[0,1,2,2]", "[-1,-1,2,2]"));

  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->slots.size(), 3u);
  EXPECT_NE(planned->values[planned->value_of[0]].slot, planned->values[planned->value_of[1]].slot);
}

// The plan numbers slots itself, so a large storage id has no cost.
TEST(StoragePlan, IsIndependentOfTheStorageId) {
  const Result<StoragePlan> planned =
      plan(replaced(small_graph, "[0,1,2,2]", "[2147483647,1,2,2]"));

  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->slots.size(), 3u);
}

TEST(StoragePlan, RejectsASlotOnTwoDevices) {
  const Result<StoragePlan> planned = plan(small_graph, {{1, 0}, {1, 0}, {1, 0}, {4, 1}});

  ASSERT_FALSE(planned.ok());
  EXPECT_EQ(planned.error().code, Code::malformed);
  EXPECT_EQ(planned.error().message,
            "storage 2 holds entry 2 on device 1:0 and entry 3 on device 4:1");
}

TEST(StoragePlan, RejectsTextures) {
  const Result<StoragePlan> planned =
      plan(replaced(small_graph, "\"shape\":[",
                    "\"storage_scope\":[\"list_str\",[\"global\",\"global.texture-weight\",\"\","
                    "\"\"]],\"shape\":["));

  ASSERT_FALSE(planned.ok());
  EXPECT_EQ(planned.error().code, Code::unsupported);
  EXPECT_EQ(planned.error().message,
            "entry 1 has storage scope \"global.texture-weight\", texture memory is not supported");
}

}  // namespace
}  // namespace gantry::graph::test
