// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/parallel_launch.hpp"

#include "tests/unit/native/host_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gantry {
namespace {

using test::call_named;
using test::fixture;
using test::function_of;
using test::HostWorld;

std::string in_function(const std::string& text, const std::string& function) {
  return text + "\n  in host function \"" + function + "\" of entry 0 \"_lib\" of packed.so";
}

TEST(ParallelLaunch, SynchronizesAsManyTasksAsThePoolHasThreads) {
  HostWorld world(4);
  const auto node = world.load_whole(fixture("packed.so"));

  EXPECT_EQ(call_named(node, "meet_often", {int_value(0), int_value(200)})->get().i, 4);
  EXPECT_EQ(call_named(node, "meet_often", {int_value(3), int_value(200)})->get().i, 3);
  EXPECT_EQ(call_named(node, "meet_often", {int_value(1), int_value(5)})->get().i, 1);
}

TEST(ParallelLaunch, RunsOneTaskOnAPoolOfOneThread) {
  HostWorld world(1);
  const auto node = world.load_whole(fixture("packed.so"));

  EXPECT_EQ(call_named(node, "meet_often", {int_value(0), int_value(5)})->get().i, 1);
}

TEST(ParallelLaunch, RejectsMoreTasksThanThreads) {
  HostWorld world(4);
  const auto node = world.load_whole(fixture("packed.so"));

  const auto result = call_named(node, "meet_often", {int_value(5), int_value(1)});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_EQ(result.error().reason, "POOL_SIZE");
  EXPECT_EQ(
      result.error().message,
      in_function("a parallel launch requires 5 concurrent tasks, the thread pool has 4 threads",
                  "meet_often"));
  EXPECT_FALSE(call_named(node, "meet_often", {int_value(-1), int_value(1)}).ok());
}

TEST(ParallelLaunch, JoinsTheErrorsOfTasksThatFailBeforeABarrier) {
  HostWorld world(4);
  const auto node = world.load_whole(fixture("packed.so"));

  const auto result = call_named(node, "fail_in_parallel", {int_value(4)});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_EQ(result.error().message,
            in_function("task 1: one\n  task 3: fails without an error text", "fail_in_parallel"));
}

// A module retained by a worker would keep the pool, and with it the worker, alive forever.
TEST(ParallelLaunch, ReleasesObjectsThatWorkersReceived) {
  HostWorld world(4);
  const auto node = world.load_whole(fixture("packed.so"));
  const Ref<ModuleNode> module = test::named_node("other");
  static constexpr gantry_function_table give{
      sizeof give, 0, nullptr,
      [](void* self, const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
         gantry_status*) -> gantry_code {
        *result = value_of(static_cast<gantry_object*>(self));
        gantry_retain(result->object);
        return GANTRY_OK;
      }};
  const auto inner = std::move(new_function({module.base(), &give}, {}, 0)).value();

  const auto result = call_named(node, "call_in_parallel", {value_of(inner.base()), int_value(4)});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(module->header.counts & UINT32_MAX, 1u);
}

TEST(ParallelLaunch, KeepsTheErrorOfASingleTask) {
  HostWorld world(1);
  const auto node = world.load_whole(fixture("packed.so"));
  static constexpr gantry_function_table refuse{
      sizeof refuse, 0, nullptr,
      [](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
         gantry_status* status) {
        return gantry_fail(status, GANTRY_EXHAUSTED, "FULL", "no memory");
      }};
  const auto inner = std::move(new_function({nullptr, &refuse}, {}, 0)).value();

  const auto result = call_named(node, "call_in_parallel", {value_of(inner.base()), int_value(0)});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::exhausted);
  EXPECT_EQ(result.error().reason, "FULL");
  EXPECT_EQ(result.error().message, in_function("task 0: no memory", "call_in_parallel"));
}

TEST(ParallelLaunch, DoesNotReportAnEarlierErrorOfItsCaller) {
  HostWorld world(4);
  const auto node = world.load_whole(fixture("packed.so"));

  const auto result =
      call_named(node, "fail_after_a_failure", {value_of(function_of(node, "fail_mute").base())});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            in_function("task 0: fails without an error text", "fail_after_a_failure"));
}

TEST(ParallelLaunch, RunsALaunchFromWithinATaskOnItsOwnThread) {
  HostWorld world(4);
  const auto node = world.load_whole(fixture("packed.so"));

  EXPECT_EQ(call_named(node, "nest", {int_value(0)})->get().i, 4);
}

// Tasks run in the env of the launch; the functions that they call receive its stream and its task.
TEST(ParallelLaunch, PassesTheEnvToItsTasks) {
  HostWorld world(4);
  const auto node = world.load_whole(fixture("packed.so"));
  struct Seen {
    const gantry_env* expected;
    std::atomic<int> same{0};
  };
  static constexpr gantry_function_table table{
      sizeof table, 0, nullptr,
      [](void* self, const gantry_env* env, const gantry_value*, std::int32_t, gantry_value*,
         gantry_status*) -> gantry_code {
        auto& seen = *static_cast<Seen*>(self);
        if (env->task == seen.expected->task && env->device.index == seen.expected->device.index)
          ++seen.same;
        return GANTRY_OK;
      }};
  int task = 0;
  const gantry_env env{{4, 3}, nullptr, &task, nullptr};
  Seen seen{.expected = &env};
  const auto inner = std::move(new_function({&seen, &table}, {}, 0)).value();
  const gantry_value args[] = {value_of(inner.base()), int_value(0)};

  ASSERT_TRUE(call(*function_of(node, "call_in_parallel"), &env, args).ok());

  EXPECT_EQ(seen.same, 4);
}

TEST(ParallelLaunch, ServesEightThreadsThatCallOneFunction) {
  HostWorld world(3);
  const auto node = world.load_whole(fixture("packed.so"));
  const auto meet = function_of(node, "meet_often");
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 40; ++round) {
        const gantry_value args[] = {int_value(0), int_value(3)};
        if (!call(*meet, nullptr, args).ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failed, 0);
}

TEST(ParallelLaunch, ServesTwoRuntimesInOneProcess) {
  HostWorld a(3), b(3);
  const auto in_a = a.load_whole(fixture("packed.so"));
  const auto in_b = b.load_whole(fixture("packed.so"));
  std::atomic<int> failed{0};
  const auto launch = [&](const Ref<ModuleNode>& node) {
    const auto meet = function_of(node, "meet_often");
    for (int round = 0; round < 50; ++round) {
      const gantry_value args[] = {int_value(0), int_value(2)};
      const auto result = call(*meet, nullptr, args);
      if (!result.ok() || result->get().i != 3) ++failed;
    }
  };

  std::thread other([&] { launch(in_b); });
  launch(in_a);
  other.join();

  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace gantry
