// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/unit/vulkan/between.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace gantry::vulkan::test {
namespace {

// Creates the plugin of a runtime, starts a device and destroys both.
Status run_once() {
  const gantry::test::FakeHost host;
  Plugin plugin(Host(host.table()), Options{}, {});
  GANTRY_CHECK(plugin.device(0));
  return {};
}

TEST(OneInstance, IsSharedByTheRuntimesOfAProcess) {
  constexpr std::size_t count = 8;
  std::array<Status, count> at_once;
  std::array<std::thread, count> threads;

  for (std::size_t i = 0; i < count; ++i)
    threads[i] = std::thread([&result = at_once[i]] { result = run_once(); });
  for (std::thread& thread : threads) thread.join();
  if (!at_once[0].ok() && at_once[0].error().code == Code::unavailable)
    GTEST_SKIP() << at_once[0].error().message;
  const int destroyed = between.destroyed_instances;
  const Status later = run_once();

  for (const Status& status : at_once) EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(later.ok()) << later.error().message;
  EXPECT_EQ(between.instances, 1);
  EXPECT_EQ(between.destroyed_instances, destroyed);
}

}  // namespace
}  // namespace gantry::vulkan::test
