// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/workspace.hpp"

#include "core/engine/native/batch.hpp"
#include "core/engine/tensor/cpu_device.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/dtype_text.hpp>

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
using ::testing::ElementsAre;

constexpr gantry_device_id kFirstCpu{kCpu, 0};

// A device that records its allocations.
struct FakeDevice {
  std::mutex mutex;
  std::map<void*, std::uint64_t> live;
  std::vector<std::uint64_t> allocated;
  std::uint64_t min_alignment = UINT64_MAX;
  bool full = false;
  // alloc succeeds without memory
  bool absent = false;
  // A later free is an error.
  bool gone = false;
  // of the last alloc and the last free in stream order
  std::uint32_t flags = 0;
  void* stream = nullptr;
  void* freed_in = nullptr;
};
const gantry_device_table* fake_table() {
  static const gantry_device_table table = [] {
    gantry_device_table t{};
    t.struct_size = sizeof t;
    t.name = "fake";
    t.flags = GANTRY_DEVICE_OPAQUE_DATA;
    t.alloc = [](void* self, std::int32_t, const gantry_alloc* what, void** data,
                 gantry_status* status) -> gantry_code {
      auto& device = *static_cast<FakeDevice*>(self);
      const std::lock_guard lock(device.mutex);
      if (device.full)
        return gantry_fail(status, GANTRY_EXHAUSTED, "FAKE", "the fake device is full");
      if (device.absent) return GANTRY_OK;
      EXPECT_EQ(what->struct_size, sizeof *what);
      EXPECT_TRUE(same_dtype(what->dtype, {1, 8, 1})) << "bytes";
      *data = std::malloc(1);
      device.live[*data] = what->size;
      device.allocated.push_back(what->size);
      device.min_alignment = std::min(device.min_alignment, what->alignment);
      device.flags = what->flags;
      device.stream = what->stream;
      return GANTRY_OK;
    };
    t.free = [](void* self, std::int32_t, void* data) {
      auto& device = *static_cast<FakeDevice*>(self);
      const std::lock_guard lock(device.mutex);
      EXPECT_FALSE(device.gone);
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

TEST_F(WorkspacesTest, RejectsAnAllocationWithoutMemory) {
  fake.absent = true;

  const auto refused = workspaces->alloc(id, 4096);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::bug);
  EXPECT_EQ(refused.error().reason, "DEVICE_ALLOC");
  EXPECT_THAT(refused.error().message,
              ::testing::StartsWith("device fake: alloc of 4096 bytes succeeds but returns NULL"));
}

TEST_F(WorkspacesTest, RoundsUpToPagesOfFullAlignment) {
  for (const std::uint64_t bytes : {0u, 1u, 4096u, 4097u})
    ASSERT_TRUE(workspaces->alloc(id, bytes).ok());

  EXPECT_THAT(fake.allocated, ElementsAre(4096, 4096, 4096, 8192));
  EXPECT_EQ(fake.min_alignment, kTensorAlignment);
}

TEST_F(WorkspacesTest, AllocatesAndReplacesBlocksInTheOrderOfTheirStream) {
  gantry_device_table table = *fake_table();
  table.free_in_stream = [](void* self, std::int32_t i, void* data, void* stream) {
    static_cast<FakeDevice*>(self)->freed_in = stream;
    fake_table()->free(self, i, data);
  };
  DeviceSet others;
  const gantry_device_id other{*others.add("other", &fake, &table), 0};
  int stream = 0;
  Workspaces spaces(others);

  void* const small = *spaces.alloc(other, 100, &stream);
  EXPECT_EQ(fake.flags, GANTRY_ALLOC_IN_STREAM);
  EXPECT_EQ(fake.stream, &stream);
  ASSERT_TRUE(spaces.free(other, small).ok());
  EXPECT_EQ(fake.freed_in, nullptr) << "it is kept";
  ASSERT_TRUE(spaces.alloc(other, 8192, &stream).ok());
  EXPECT_EQ(fake.freed_in, &stream) << "it is replaced";
  EXPECT_EQ(fake.live.size(), 1u);

  fake.freed_in = nullptr;
  spaces.close();
  EXPECT_EQ(fake.freed_in, nullptr) << "streams may have ended";
  EXPECT_EQ(fake.live.size(), 0u);
}

TEST_F(WorkspacesTest, ReusesBlocksWithoutAllocatingOnTheDevice) {
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

TEST_F(WorkspacesTest, ReplacesTheLargestBlockIfNoneIsLargeEnough) {
  void* a = *workspaces->alloc(id, 4096);
  void* b = *workspaces->alloc(id, 8192);
  ASSERT_TRUE(workspaces->free(id, a).ok());
  ASSERT_TRUE(workspaces->free(id, b).ok());

  ASSERT_TRUE(workspaces->alloc(id, 12288).ok());

  EXPECT_EQ(fake.live.size(), 2u);
  EXPECT_FALSE(std::any_of(fake.live.begin(), fake.live.end(),
                           [](const auto& e) { return e.second == 8192; }));
}

TEST_F(WorkspacesTest, FreesBlocksInAnyOrder) {
  void* a = *workspaces->alloc(id, 1);
  void* b = *workspaces->alloc(id, 1);
  void* c = *workspaces->alloc(id, 1);
  EXPECT_TRUE(workspaces->free(id, a).ok());
  EXPECT_TRUE(workspaces->free(id, c).ok());
  EXPECT_TRUE(workspaces->free(id, b).ok());
}

TEST_F(WorkspacesTest, RejectsABlockThatIsNotInUseOnThisThread) {
  void* block = *workspaces->alloc(id, 1);
  std::thread([&] { EXPECT_FALSE(workspaces->free(id, block).ok()); }).join();
  ASSERT_TRUE(workspaces->free(id, block).ok());

  const Status again = workspaces->free(id, block);

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_EQ(again.error().message,
            concat("the workspace at ", Hex{reinterpret_cast<std::uintptr_t>(block)},
                   " is not in use by this thread"));
}

TEST_F(WorkspacesTest, ReportsTheErrorOfTheDevice) {
  fake.full = true;

  const auto block = workspaces->alloc(id, 5000);

  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::exhausted);
  EXPECT_EQ(block.error().message,
            "the fake device is full\n  while allocating a workspace of 8192 bytes on fake:0");
}

TEST_F(WorkspacesTest, RejectsASizeBeyondTheAddressSpace) {
  for (const std::uint64_t bytes : {UINT64_MAX - 5, UINT64_MAX - kWorkspacePage + 1}) {
    const auto block = workspaces->alloc(id, bytes);

    ASSERT_FALSE(block.ok());
    EXPECT_EQ(block.error().code, Code::exhausted);
    EXPECT_EQ(block.error().message,
              concat("a workspace of ", ByteCount(bytes), " exceeds the address space"));
  }
  // One byte less reaches the device.
  fake.absent = true;
  EXPECT_EQ(workspaces->alloc(id, UINT64_MAX - kWorkspacePage).error().reason, "DEVICE_ALLOC");
}

TEST_F(WorkspacesTest, RejectsAnUnknownDevice) {
  const auto block = workspaces->alloc({90, 0}, 1);

  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::not_found);
}

TEST_F(WorkspacesTest, SeparatesDevicesOfOneType) {
  void* on_first = *workspaces->alloc(id, 1);
  EXPECT_FALSE(workspaces->free({id.type, 1}, on_first).ok());
  ASSERT_TRUE(workspaces->free(id, on_first).ok());
  EXPECT_NE(*workspaces->alloc({id.type, 1}, 1), on_first);
}

// Work that uses a freed block may still be queued in the stream of the block.
TEST_F(WorkspacesTest, AreReusedInTheSameStreamOnly) {
  int first = 0, second = 0;
  void* const block = *workspaces->alloc(id, 1, &first);
  ASSERT_TRUE(workspaces->free(id, block).ok());

  EXPECT_NE(*workspaces->alloc(id, 1, &second), block);
  EXPECT_NE(*workspaces->alloc(id, 1), block);
  EXPECT_EQ(*workspaces->alloc(id, 1, &first), block);
}

// The end of a stream is not reported to the workspaces.
TEST_F(WorkspacesTest, AreBoundedForManyStreams) {
  char streams[1000];
  for (char& stream : streams) {
    void* const block = *workspaces->alloc(id, 1, &stream);
    ASSERT_TRUE(workspaces->free(id, block).ok());
  }

  EXPECT_EQ(fake.live.size(), 8u);
}

TEST_F(WorkspacesTest, KeepTheirDeviceAndStreamWhenThoseOfAnotherStreamAreRemoved) {
  char streams[9];
  const auto on = [&](std::int32_t index, int stream) {
    return *workspaces->alloc({id.type, index}, 1, &streams[stream]);
  };
  ASSERT_TRUE(workspaces->free(id, on(0, 0)).ok());
  void* const of_cpu = *workspaces->alloc(kFirstCpu, 1);
  void* const of_second = on(1, 1);
  std::vector<void*> blocks;
  for (int stream = 1; stream < 8; ++stream) blocks.push_back(on(0, stream));

  // This is the ninth stream of the device, so the blocks of the first one are freed.
  ASSERT_TRUE(workspaces->free(id, on(0, 8)).ok());

  ASSERT_TRUE(workspaces->free(kFirstCpu, of_cpu).ok());
  EXPECT_EQ(*workspaces->alloc(kFirstCpu, 1), of_cpu);
  ASSERT_TRUE(workspaces->free({id.type, 1}, of_second).ok());
  EXPECT_EQ(on(1, 1), of_second);
  for (int stream = 1; stream < 8; ++stream) {
    void* const block = blocks[static_cast<std::size_t>(stream) - 1];
    ASSERT_TRUE(workspaces->free(id, block).ok()) << stream;
    EXPECT_EQ(on(0, stream), block) << stream;
  }
}

TEST_F(WorkspacesTest, AreKeptWhileInUseWithManyStreams) {
  char streams[20];
  std::vector<void*> blocks;
  for (char& stream : streams) blocks.push_back(*workspaces->alloc(id, 1, &stream));

  for (void* const block : blocks) {
    EXPECT_TRUE(fake.live.contains(block));
    EXPECT_TRUE(workspaces->free(id, block).ok());
  }
}

TEST_F(WorkspacesTest, AreFreedWhenTheThreadEnds) {
  std::thread([&] {
    void* block = *workspaces->alloc(id, 1);
    ASSERT_TRUE(workspaces->free(id, block).ok());
    // still in use when the thread ends
    ASSERT_TRUE(workspaces->alloc(id, 1).ok());
    EXPECT_EQ(fake.live.size(), 1u);
  }).join();

  EXPECT_EQ(fake.live.size(), 0u);
}

TEST_F(WorkspacesTest, AreFreedWithTheRuntimeOnEveryThread) {
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

// All blocks of a plugin's device must be freed before the plugin is destroyed, which may be long
// before threads end.
TEST_F(WorkspacesTest, AreFreedByCloseBeforeTheirDeviceAndThreadsEnd) {
  std::atomic<int> step{0};
  std::thread other([&] {
    void* block = *workspaces->alloc(id, 1);
    ASSERT_TRUE(workspaces->free(id, block).ok());
    ASSERT_TRUE(workspaces->alloc(id, 1).ok());
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  ASSERT_TRUE(workspaces->alloc(id, 1).ok());

  workspaces->close();

  EXPECT_EQ(fake.live.size(), 0u);
  fake.gone = true;
  step = 2;
  other.join();
  workspaces.reset();
}

TEST_F(WorkspacesTest, MayBeClosedWhileThreadsEnd) {
  constexpr int kThreads = 8;
  for (int round = 0; round < 20; ++round) {
    Workspaces next(devices);
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        EXPECT_TRUE(next.alloc(id, 1).ok());
        ++ready;
      });
    }
    while (ready != kThreads) std::this_thread::yield();

    next.close();

    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fake.live.size(), 0u);
  }
}

TEST_F(WorkspacesTest, CannotBeAllocatedAfterClose) {
  ASSERT_TRUE(workspaces->alloc(id, 1).ok());
  workspaces->close();

  const auto here = workspaces->alloc(id, 1);

  ASSERT_FALSE(here.ok());
  EXPECT_EQ(here.error().code, Code::unavailable);
  EXPECT_EQ(here.error().reason, "RUNTIME_ENDS");
  EXPECT_EQ(here.error().message, "workspaces cannot be allocated while the runtime shuts down");
  std::thread([&] { EXPECT_FALSE(workspaces->alloc(id, 1).ok()); }).join();
}

TEST_F(WorkspacesTest, WorkWithSeveralRuntimesOnOneThread) {
  for (int i = 0; i < 3; ++i) {
    Workspaces next(devices);
    ASSERT_TRUE(next.alloc(id, 1).ok());
    ASSERT_TRUE(workspaces->alloc(id, 1).ok());
  }
  EXPECT_EQ(fake.live.size(), 3u);
  EXPECT_EQ(here().shares.size(), 2u) << "those of closed runtimes before the last are removed";
}

TEST(HostWorkspace, IsAlignedAndReusedFromCpuCode) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("packed.so"));

  const auto first = call_named(node, "use_workspace", {int_value(1), int_value(5000)});
  const auto second = call_named(node, "use_workspace", {int_value(1), int_value(5000)});

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->get().i % static_cast<std::int64_t>(kTensorAlignment), 0);
  EXPECT_EQ(first->get().p, second->get().p);
}

// Workspaces that calls of CPU code do not free.
class LeftWorkspaces : public ::testing::Test {
 protected:
  // outlives the world, which frees the remaining memory of the device
  FakeDevice fake;
  HostWorld world{4};
  std::int64_t type = *world.devices.add("fake", &fake, fake_table());
  Ref<ModuleNode> node = world.load_whole(fixture("packed.so"));
  Ref<FunctionObject> leave = test::function_of(node, "leave_workspace");

  void leave_one(int code) {
    const auto left =
        call_named(node, "leave_workspace", {int_value(type), int_value(64), int_value(code)});
    ASSERT_EQ(left.ok(), code == 0);
  }
  // Calls a function that leaves one workspace and returns `inner`, then returns `outer`.
  void leave_one_within(int outer, int inner) {
    const auto left = call_named(node, "call_and_return",
                                 {int_value(outer), value_of(leave.base()), int_value(type),
                                  int_value(64), int_value(inner)});
    ASSERT_EQ(left.ok(), outer == 0);
  }
};

TEST_F(LeftWorkspaces, AreFreedAfterAFailedCall) {
  for (int i = 0; i < 500; ++i) leave_one(-1);

  EXPECT_EQ(fake.allocated.size(), 1u);
}

TEST_F(LeftWorkspaces, AreFreedAfterAFailedInnerCall) {
  for (int i = 0; i < 5; ++i) leave_one_within(0, -1);

  EXPECT_EQ(fake.allocated.size(), 1u);
}

TEST_F(LeftWorkspaces, AreFreedAfterAFailedOuterCall) {
  for (int i = 0; i < 5; ++i) leave_one_within(-1, 0);

  EXPECT_EQ(fake.allocated.size(), 1u);
}

TEST_F(LeftWorkspaces, AreKeptAfterASuccessfulCall) {
  leave_one(0);
  leave_one_within(0, 0);
  ASSERT_EQ(fake.allocated.size(), 2u);

  leave_one(-1);
  leave_one(-1);
  // The first one reuses the block of the failed calls; the other two are still in use.
  leave_one(0);
  leave_one(0);

  EXPECT_EQ(fake.allocated.size(), 4u);
}

// Makes calls in one batch.
class LeftInABatch : public LeftWorkspaces {
 protected:
  gantry_code run(std::vector<int> codes) {
    std::vector<std::vector<gantry_value>> args;
    std::vector<gantry_batch_call> calls;
    args.reserve(codes.size());
    for (const int code : codes) {
      args.push_back({int_value(type), int_value(64), int_value(code)});
      calls.push_back({leave.base(), args.back().data(), 3, 0, {kCpu, 0}});
    }
    const auto batch = new_batch(calls);
    EXPECT_TRUE(batch.ok());
    std::uint64_t failed = 0;
    return run_batch(batch->get(), {{kCpu, 0}, nullptr, nullptr, nullptr}, nullptr, &failed,
                     nullptr);
  }
};

TEST_F(LeftInABatch, AreKeptByCallsThatSucceed) {
  ASSERT_EQ(run({0, 0}), GANTRY_OK);
  ASSERT_EQ(run({0, 0}), GANTRY_OK);

  EXPECT_EQ(fake.allocated.size(), 4u);
}

TEST_F(LeftInABatch, AreFreedByTheCallThatFailsOnly) {
  ASSERT_NE(run({0, -1}), GANTRY_OK);
  ASSERT_EQ(fake.allocated.size(), 2u);

  // The first one reuses the block of the failed call; that of the other one is still in use.
  leave_one(0);
  leave_one(0);

  EXPECT_EQ(fake.allocated.size(), 3u);
}

// The failure of a call that the batch is part of frees them.
TEST_F(LeftInABatch, BelongToTheEnclosingCall) {
  const gantry_env env{{kCpu, 0}, nullptr, nullptr, nullptr};
  {
    CpuScope outer({&world.services, node.get()}, env);
    ASSERT_EQ(run({0, 0}), GANTRY_OK);
    outer.returned(-1);
  }

  leave_one(0);
  leave_one(0);

  EXPECT_EQ(fake.allocated.size(), 2u);
}

TEST_F(LeftWorkspaces, AreFreedAfterAFailedCallThatFreesOneOfItsCaller) {
  const gantry_env env{{kCpu, 0}, nullptr, nullptr, nullptr};
  const gantry_device_id device{static_cast<std::int32_t>(type), 0};
  CpuScope outer({&world.services, node.get()}, env);
  void* const of_outer = *world.workspaces.alloc(device, 64);
  {
    const CpuScope inner({&world.services, node.get()}, env);
    ASSERT_TRUE(world.workspaces.alloc(device, 64).ok());
    ASSERT_TRUE(world.workspaces.free(device, of_outer).ok());
  }

  ASSERT_TRUE(world.workspaces.alloc(device, 64).ok());
  ASSERT_TRUE(world.workspaces.alloc(device, 64).ok());

  EXPECT_EQ(fake.allocated.size(), 2u);
}

// pthread_cancel() unwinds such a call.
TEST_F(LeftInABatch, AreFreedByACallThatDoesNotReturn) {
  const gantry_env env{{kCpu, 0}, nullptr, nullptr, nullptr};
  const gantry_device_id device{static_cast<std::int32_t>(type), 0};
  {
    CpuScope scope({&world.services, node.get()}, env);
    ASSERT_TRUE(world.workspaces.alloc(device, 64).ok());
    scope.next_call();
    ASSERT_TRUE(world.workspaces.alloc(device, 64).ok());
  }

  leave_one(0);

  EXPECT_EQ(fake.allocated.size(), 2u);
}

TEST_F(LeftWorkspaces, AreFreedAfterFailedTasks) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_FALSE(call_named(node, "leave_in_parallel", {int_value(type), int_value(4)}).ok());
  }

  // one for each thread
  EXPECT_EQ(fake.allocated.size(), 4u);
}

TEST(HostWorkspace, ReportsErrorsToCpuCode) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("packed.so"));

  const auto missing = call_named(node, "use_workspace", {int_value(77), int_value(1)});
  const auto stranger = call_named(node, "free_stranger");

  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_THAT(missing.error().message, ::testing::HasSubstr("77"));
  ASSERT_FALSE(stranger.ok());
  EXPECT_THAT(stranger.error().message, ::testing::HasSubstr("is not in use by this thread"));
}

TEST(HostWorkspace, TranslatesTheArtifactsDeviceNumbers) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("packed.so"));
  test::artifact_of(*node).device_numbers = {{77, kCpu}};

  EXPECT_TRUE(call_named(node, "use_workspace", {int_value(77), int_value(1)}).ok());
}

}  // namespace
}  // namespace gantry
