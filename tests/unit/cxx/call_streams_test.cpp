// SPDX-License-Identifier: Apache-2.0
#include <gantry/call_streams.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace gantry {
namespace {

constexpr gantry_device_id cpu{1, 0};

TEST(CallStreams, OfADeviceKeepTheStreamOfTheCall) {
  int own = 0, task = 0;
  const gantry_env env{{4, 1}, &own, &task, nullptr};
  const CallStreams streams(env);

  const gantry_env on_cpu = streams.on(cpu);

  EXPECT_EQ(on_cpu.device.type, cpu.type);
  EXPECT_EQ(on_cpu.stream, nullptr);
  EXPECT_EQ(on_cpu.task, &task);
  EXPECT_EQ(gantry_env_stream(&on_cpu, {4, 1}), &own);
  EXPECT_EQ(gantry_env_stream(&on_cpu, {4, 0}), nullptr);
  EXPECT_EQ(streams.on({4, 1}).stream, &own);
}

TEST(CallStreams, WithoutAStreamAddNothing) {
  const gantry_env env{{4, 1}, nullptr, nullptr, nullptr};

  EXPECT_EQ(CallStreams(env).on(cpu).streams, nullptr);
}

// From 4 streams on, they are in another list.
TEST(CallStreams, AreThoseOfEveryDevice) {
  int own = 0, others[6] = {};
  CallStreams streams;
  for (std::uint64_t count = 0; count <= 6; ++count) {
    std::vector<gantry_device_stream> items;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i)
      items.push_back({{5, i}, &others[i]});
    const gantry_streams list{items.data(), count};
    streams.reset({{4, 1}, &own, nullptr, &list});

    const gantry_env env = streams.on({5, 2});

    EXPECT_EQ(env.stream, count > 2 ? &others[2] : nullptr);
    EXPECT_EQ(gantry_env_stream(&env, {4, 1}), &own);
    for (std::int32_t i = 0; i < 6; ++i) {
      const bool listed = static_cast<std::uint64_t>(i) < count;
      EXPECT_EQ(gantry_env_stream(&env, {5, i}), listed ? &others[i] : nullptr) << count;
    }
  }
}

TEST(CallStreams, ForgetThoseOfAnEarlierCall) {
  int own = 0;
  CallStreams streams(gantry_env{{4, 1}, &own, nullptr, nullptr});

  streams.reset({{4, 0}, nullptr, nullptr, nullptr});

  const gantry_env env = streams.on(cpu);
  EXPECT_EQ(gantry_env_stream(&env, {4, 1}), nullptr);
}

}  // namespace
}  // namespace gantry
