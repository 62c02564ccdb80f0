// SPDX-License-Identifier: Apache-2.0
#include <gantry/notices.hpp>
#include <gantry/poll.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace gantry {
namespace {

void count(void* calls) { ++*static_cast<std::atomic<int>*>(calls); }

TEST(Notices, AreDeliveredOnce) {
  Notices notices;
  std::atomic<int> calls{0};
  Notices::One* const delivered = notices.add(count, &calls);
  Notices::One* const refused = notices.add(count, &calls);
  EXPECT_FALSE(notices.is_empty());

  Notices::deliver(delivered);
  notices.withdraw(refused);

  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(notices.is_empty());
}

TEST(Notices, AreAwaitedByTheDestructor) {
  std::optional<Notices> notices(std::in_place);
  std::atomic<int> calls{0};
  Notices::One* const late = notices->add(count, &calls);
  std::thread driver([late] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Notices::deliver(late);
  });

  notices.reset();

  EXPECT_EQ(calls, 1);
  driver.join();
}

TEST(Notices, OfADriverThatIsGoneAreDeliveredByTheirOwner) {
  Notices notices;
  std::atomic<int> calls{0};
  notices.add(count, &calls);
  notices.add(count, &calls);

  notices.deliver_all();

  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(notices.is_empty());
}

TEST(Poll, AsksAtOnceAndUntilTheTimeHasPassed) {
  int asked = 0;
  const auto never = [&]() -> Result<bool> {
    ++asked;
    return false;
  };

  EXPECT_FALSE(poll(0, never).value());
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(poll(1'000'000, never).value());
  EXPECT_GT(asked, 2);
}

TEST(Poll, EndsWithTheAnswerOrTheError) {
  int asked = 0;
  const auto third = [&]() -> Result<bool> { return ++asked == 3; };
  const auto fails = []() -> Result<bool> { return lost("gone"); };

  EXPECT_TRUE(poll(60'000'000'000, third).value());
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(poll(60'000'000'000, fails).error().code, Code::lost);
}

}  // namespace
}  // namespace gantry
