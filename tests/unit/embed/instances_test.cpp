// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/instances.hpp"

#include "core/engine/embed/objects.hpp"
#include "tests/support/fake_model.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace gantry {
namespace {

class ModelInstancesOf : public ::testing::Test {
 protected:
  std::unique_ptr<ModelInstances> instances(std::size_t max) {
    const auto& runtime = state_of(runtime_.get());
    auto model = ModelState::find(
        {.runtime = runtime, .module = test::fake_model(*runtime, fake_), .devices = {"cpu"}});
    EXPECT_TRUE(model.ok());
    return std::make_unique<ModelInstances>(*model, max);
  }
  // Takes an instance with an executor.
  static Status begin(ModelInstances::Use& use) {
    GANTRY_CHECK(use.begin());
    GANTRY_CHECK(use.function("", default_env));
    return {};
  }

  std::shared_ptr<test::FakeModelState> fake_ = std::make_shared<test::FakeModelState>();

 private:
  Runtime runtime_ = test::make_runtime();
};

TEST_F(ModelInstancesOf, OneThreadAtATimeAreOne) {
  const auto all = instances(2);
  for (int i = 0; i < 3; ++i) {
    ModelInstances::Use use(*all);
    ASSERT_TRUE(begin(use).ok());
  }

  EXPECT_EQ(fake_->created, 1);
}

TEST_F(ModelInstancesOf, UsesThatOverlapDiffer) {
  const auto all = instances(2);
  ModelInstances::Use first(*all), second(*all);

  ASSERT_TRUE(begin(first).ok());
  ASSERT_TRUE(begin(second).ok());

  EXPECT_NE(&*first, &*second);
  EXPECT_EQ(fake_->created, 2);
}

TEST_F(ModelInstancesOf, AModelAreDestroyedBeforeItsModule) {
  {
    const auto all = instances(2);
    ModelInstances::Use first(*all), second(*all);
    ASSERT_TRUE(begin(first).ok());
    ASSERT_TRUE(begin(second).ok());
    EXPECT_FALSE(fake_->has_ended);
  }

  EXPECT_EQ(fake_->alive, 0);
  EXPECT_TRUE(fake_->has_ended);
  EXPECT_FALSE(fake_->was_outlived);
}

TEST_F(ModelInstancesOf, AThreadThatWouldWaitForItselfIsRefused) {
  const auto all = instances(1), other = instances(1);
  ModelInstances::Use outer(*all), between(*other), inner(*all);
  ASSERT_TRUE(begin(outer).ok());
  ASSERT_TRUE(begin(between).ok());

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
        if (!begin(use).ok()) return;
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
  EXPECT_LE(fake_->created, 2);
}

TEST_F(ModelInstancesOf, AFailureToCreateAnExecutorIsNotCounted) {
  const auto all = instances(1);
  fake_->max_executors = 0;
  {
    ModelInstances::Use failed(*all);
    const Status status = begin(failed);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::exhausted);
    EXPECT_EQ(status.error().message,
              "executor count is 0, the maximum\n"
              "  while making an executor of module \"fake.model\"");
  }
  fake_->max_executors = 1;

  ModelInstances::Use second(*all);

  EXPECT_TRUE(begin(second).ok());
}

// A plugin may have fewer executors than the runtime has threads.
TEST_F(ModelInstancesOf, APluginWithoutFurtherExecutorsWaitForThoseThatExist) {
  const auto all = instances(4);
  fake_->max_executors = 1;
  std::atomic<bool> has_begun{false};
  std::thread second;
  {
    ModelInstances::Use first(*all);
    ASSERT_TRUE(begin(first).ok());
    second = std::thread([&] {
      ModelInstances::Use use(*all);
      has_begun = begin(use).ok();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(has_begun);
  }
  second.join();

  EXPECT_TRUE(has_begun);
  EXPECT_EQ(fake_->created, 1);
}

}  // namespace
}  // namespace gantry
