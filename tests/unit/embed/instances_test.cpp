// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/instances.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gantry {
namespace {

class NoModel final : public ModelState {
 public:
  NoModel() : ModelState({}, {"main"}, "main") {}
  Result<std::shared_ptr<FunctionState>> function(const std::string&) override {
    return not_found("no function");
  }
};

class ModelInstancesOf : public ::testing::Test {
 protected:
  std::unique_ptr<ModelInstances> instances(std::size_t max) {
    return std::make_unique<ModelInstances>(
        std::make_shared<NoModel>(),
        [this]() -> Result<std::shared_ptr<ModelState>> {
          ++made;
          if (fails) return exhausted("no memory for an executor");
          return std::make_shared<NoModel>();
        },
        max);
  }
  std::atomic<int> made{0};
  bool fails = false;
};

TEST_F(ModelInstancesOf, OneThreadAtATimeAreOne) {
  const auto all = instances(2);
  for (int i = 0; i < 3; ++i) {
    ModelInstances::Use use(*all);
    ASSERT_TRUE(use.begin().ok());
  }

  EXPECT_EQ(made, 0);
}

TEST_F(ModelInstancesOf, UsesThatOverlapDiffer) {
  const auto all = instances(2);
  ModelInstances::Use first(*all), second(*all);

  ASSERT_TRUE(first.begin().ok());
  ASSERT_TRUE(second.begin().ok());

  EXPECT_NE(&*first, &*second);
  EXPECT_EQ(made, 1);
}

TEST_F(ModelInstancesOf, AThreadThatWouldWaitForItselfIsRefused) {
  const auto all = instances(1), other = instances(1);
  ModelInstances::Use outer(*all), between(*other), inner(*all);
  ASSERT_TRUE(outer.begin().ok());
  ASSERT_TRUE(between.begin().ok());

  const Status status = inner.begin();

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::invalid);
  EXPECT_EQ(status.error().reason, "MODEL_BUSY");
  EXPECT_EQ(status.error().message,
            "the model is run from within its own run, and its executors are in use; executor "
            "count is 1");
}

TEST_F(ModelInstancesOf, MoreThreadsThanInstancesWait) {
  const auto all = instances(2);
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        ModelInstances::Use use(*all);
        if (!use.begin().ok()) return;
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_LE(most, 2);
  EXPECT_LE(made, 1);
}

TEST_F(ModelInstancesOf, AFailureToCreateOneIsNotCounted) {
  const auto all = instances(2);
  ModelInstances::Use first(*all);
  ASSERT_TRUE(first.begin().ok());
  fails = true;
  {
    ModelInstances::Use failed(*all);
    const Status status = failed.begin();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "no memory for an executor");
  }
  fails = false;

  ModelInstances::Use second(*all);

  EXPECT_TRUE(second.begin().ok());
}

TEST_F(ModelInstancesOf, AnInstanceApartIsOneThatNoRunHasUsed) {
  const auto all = instances(1);

  const auto first = all->apart(), second = all->apart();
  ModelInstances::Use use(*all);

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(use.begin().ok());
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace gantry
