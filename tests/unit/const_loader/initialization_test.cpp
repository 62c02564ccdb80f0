// SPDX-License-Identifier: Apache-2.0
#include "plugins/const_loader/initialization.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace gantry::const_loader::test {
namespace {

TEST(Initialization, RunsOnceForEachSymbolOnAnyNumberOfThreads) {
  constexpr std::size_t symbols = 3;
  Initializations initializations(symbols);
  // Written without atomics: a second run, or a return before the first has ended, is a race.
  int runs[symbols] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < symbols; ++i) {
        const Status status = initializations.once(i, [&]() -> Status {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          ++runs[i];
          return {};
        });
        EXPECT_TRUE(status.ok());
        EXPECT_EQ(runs[i], 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Initialization, RunsAgainUntilItSucceeds) {
  Initializations initializations(1);
  std::atomic<int> runs = 0, failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const Status status = initializations.once(0, [&]() -> Status {
        if (++runs < 4) return unavailable("not yet");
        return {};
      });
      if (!status.ok()) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(runs, 4);
  EXPECT_EQ(failures, 3);
}

TEST(Initialization, RunsAgainAfterAnException) {
  Initializations initializations(1);
  const auto raise = [&] {
    return initializations.once(0, []() -> Status { throw std::runtime_error("thrown"); });
  };

  EXPECT_THROW((void)raise(), std::runtime_error);

  bool ran = false;
  EXPECT_TRUE(initializations
                  .once(0,
                        [&]() -> Status {
                          ran = true;
                          return {};
                        })
                  .ok());
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace gantry::const_loader::test
