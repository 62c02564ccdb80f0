// SPDX-License-Identifier: Apache-2.0
#include "plugins/const_loader/initialization.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
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

// Each thread runs one symbol and looks up the next one, the last the first.
TEST(Initialization, RefusesACircleOfThreads) {
  for (const std::size_t count : {2u, 3u}) {
    Initializations initializations(count);
    std::atomic<std::size_t> running = 0;
    std::mutex mutex;
    std::vector<Error> errors;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        Status status = initializations.once(i, [&]() -> Status {
          ++running;
          while (running < count) std::this_thread::yield();
          return initializations.once((i + 1) % count, [] { return Status(); });
        });
        const std::lock_guard lock(mutex);
        if (!status.ok()) errors.push_back(std::move(status).error());
      });
    }
    for (std::thread& thread : threads) thread.join();

    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].code, Code::invalid);
    EXPECT_EQ(errors[0].message,
              "its initialization on another thread waits for one of this thread, which would wait "
              "for ever");
  }
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
