// SPDX-License-Identifier: Apache-2.0
#include "core/host/workspace.hpp"

#include "core/tensor/cpu_device.hpp"
#include "tests/unit/host/host_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <thread>

namespace gantry {
namespace {

using test::call_named;
using test::fixture;
using test::HostWorld;
using test::int_value;
using ::testing::ElementsAre;

constexpr gantry_device_id kFirstCpu{kCpu, 0};

// A device that counts what it has handed out.
struct FakeDevice {
  std::mutex mutex;
  std::map<void*, std::uint64_t> live;
  std::vector<std::uint64_t> allocated;
  std::uint64_t least_alignment = UINT64_MAX;
  bool full = false;
};
const gantry_device_table* fake_table() {
  static const gantry_device_table table = [] {
    gantry_device_table t{};
    t.struct_size = sizeof t;
    t.name = "fake";
    t.alloc = [](void* self, std::int32_t, const gantry_alloc* what, void** data,
                 gantry_status* status) -> gantry_code {
      auto& device = *static_cast<FakeDevice*>(self);
      const std::lock_guard lock(device.mutex);
      if (device.full)
        return gantry_fail(status, GANTRY_EXHAUSTED, "FAKE", "the fake device is full");
      *data = std::malloc(1);
      device.live[*data] = what->size;
      device.allocated.push_back(what->size);
      device.least_alignment = std::min(device.least_alignment, what->alignment);
      return GANTRY_OK;
    };
    t.free = [](void* self, std::int32_t, void* data) {
      auto& device = *static_cast<FakeDevice*>(self);
      const std::lock_guard lock(device.mutex);
      EXPECT_EQ(device.live.erase(data), 1u);
      std::free(data);
    };
    return t;
  }();
  return &table;
}

class WorkspacesTest : public ::testing::Test {
 protected:
  FakeDevice fake;
  DeviceSet devices;
  gantry_device_id id{*devices.add("fake", &fake, fake_table()), 0};
  std::optional<Workspaces> workspaces{std::in_place, devices};
};

TEST_F(WorkspacesTest, RoundsUpToPagesOfFullAlignment) {
  for (const std::uint64_t bytes : {0u, 1u, 4096u, 4097u})
    ASSERT_TRUE(workspaces->alloc(id, bytes).ok());

  EXPECT_THAT(fake.allocated, ElementsAre(4096, 4096, 4096, 8192));
  EXPECT_EQ(fake.least_alignment, kTensorAlignment);
}

TEST_F(WorkspacesTest, GivesABlockAgainWithoutAskingTheDevice) {
  for (int round = 0; round < 3; ++round) {
    void* outer = *workspaces->alloc(id, 5000);
    void* inner = *workspaces->alloc(id, 100);
    ASSERT_TRUE(workspaces->free(id, inner).ok());
    ASSERT_TRUE(workspaces->free(id, outer).ok());
  }

  EXPECT_EQ(fake.allocated.size(), 2u);
}

TEST_F(WorkspacesTest, TakesTheSmallestBlockThatIsLargeEnough) {
  void* large = *workspaces->alloc(id, 40960);
  void* small = *workspaces->alloc(id, 8192);
  ASSERT_TRUE(workspaces->free(id, large).ok());
  ASSERT_TRUE(workspaces->free(id, small).ok());

  EXPECT_EQ(*workspaces->alloc(id, 5000), small);
  EXPECT_EQ(*workspaces->alloc(id, 5000), large);
}

TEST_F(WorkspacesTest, ReplacesTheLargestBlockWhereNoneIsLargeEnough) {
  void* a = *workspaces->alloc(id, 4096);
  void* b = *workspaces->alloc(id, 8192);
  ASSERT_TRUE(workspaces->free(id, a).ok());
  ASSERT_TRUE(workspaces->free(id, b).ok());

  ASSERT_TRUE(workspaces->alloc(id, 12288).ok());

  EXPECT_EQ(fake.live.size(), 2u);
  EXPECT_FALSE(std::any_of(fake.live.begin(), fake.live.end(),
                           [](const auto& e) { return e.second == 8192; }));
}

TEST_F(WorkspacesTest, TakesBlocksBackOutOfOrder) {
  void* a = *workspaces->alloc(id, 1);
  void* b = *workspaces->alloc(id, 1);
  void* c = *workspaces->alloc(id, 1);
  EXPECT_TRUE(workspaces->free(id, a).ok());
  EXPECT_TRUE(workspaces->free(id, c).ok());
  EXPECT_TRUE(workspaces->free(id, b).ok());
}

TEST_F(WorkspacesTest, RefusesABlockThatIsNotInUseHere) {
  void* block = *workspaces->alloc(id, 1);
  std::thread([&] { EXPECT_FALSE(workspaces->free(id, block).ok()); }).join();
  ASSERT_TRUE(workspaces->free(id, block).ok());

  const Status again = workspaces->free(id, block);

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_EQ(again.error().message,
            concat("the workspace at ", Hex{reinterpret_cast<std::uintptr_t>(block)},
                   " is not one that this thread has in use"));
}

TEST_F(WorkspacesTest, SaysWhatTheDeviceSays) {
  fake.full = true;

  const auto block = workspaces->alloc(id, 5000);

  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::exhausted);
  EXPECT_EQ(block.error().message,
            "the fake device is full\n  while allocating a workspace of 8192 bytes on fake:0");
}

TEST_F(WorkspacesTest, RefusesASizeThatCannotBe) {
  const auto block = workspaces->alloc(id, UINT64_MAX - 5);

  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::exhausted);
  EXPECT_EQ(block.error().message, "a workspace of 18446744073709551610 bytes is asked for");
}

TEST_F(WorkspacesTest, RefusesADeviceThatIsNotThere) {
  const auto block = workspaces->alloc({90, 0}, 1);

  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::not_found);
}

TEST_F(WorkspacesTest, KeepsDevicesOfOneKindApart) {
  void* on_first = *workspaces->alloc(id, 1);
  EXPECT_FALSE(workspaces->free({id.type, 1}, on_first).ok());
}

TEST_F(WorkspacesTest, GoWithTheThread) {
  std::thread([&] {
    void* block = *workspaces->alloc(id, 1);
    ASSERT_TRUE(workspaces->free(id, block).ok());
    ASSERT_TRUE(workspaces->alloc(id, 1).ok());  // still in use at the end
    EXPECT_EQ(fake.live.size(), 1u);
  }).join();

  EXPECT_EQ(fake.live.size(), 0u);
}

TEST_F(WorkspacesTest, GoWithTheRuntimeOnEveryThread) {
  std::atomic<int> step{0};
  std::thread other([&] {
    ASSERT_TRUE(workspaces->alloc(id, 1).ok());
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  ASSERT_TRUE(workspaces->alloc(id, 1).ok());
  EXPECT_EQ(fake.live.size(), 2u);

  workspaces.reset();

  EXPECT_EQ(fake.live.size(), 0u);
  step = 2;
  other.join();
}

TEST_F(WorkspacesTest, ServeOneRuntimeAfterTheOtherOnOneThread) {
  for (int i = 0; i < 3; ++i) {
    Workspaces next(devices);
    ASSERT_TRUE(next.alloc(id, 1).ok());
    ASSERT_TRUE(workspaces->alloc(id, 1).ok());
  }
  EXPECT_EQ(fake.live.size(), 3u);
}

TEST(HostWorkspace, IsAlignedAndReusedFromHostCode) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("packed.so"));

  const auto first = call_named(node, "use_workspace", {int_value(1), int_value(5000)});
  const auto second = call_named(node, "use_workspace", {int_value(1), int_value(5000)});

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->get().i % static_cast<std::int64_t>(kTensorAlignment), 0);
  EXPECT_EQ(first->get().p, second->get().p);
}

TEST(HostWorkspace, TellsHostCodeWhyItFails) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("packed.so"));

  const auto missing = call_named(node, "use_workspace", {int_value(77), int_value(1)});
  const auto stranger = call_named(node, "free_stranger");

  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_THAT(missing.error().message, ::testing::HasSubstr("77"));
  ASSERT_FALSE(stranger.ok());
  EXPECT_THAT(stranger.error().message,
              ::testing::HasSubstr("is not one that this thread has in use"));
}

TEST(HostWorkspace, TranslatesTheArtifactsDeviceNumbers) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("packed.so"));
  node->device_numbers = {{77, kCpu}};

  EXPECT_TRUE(call_named(node, "use_workspace", {int_value(77), int_value(1)}).ok());
}

}  // namespace
}  // namespace gantry
