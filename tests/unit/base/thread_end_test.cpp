// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread_end.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <functional>

namespace gantry {
namespace {

// Calls a function of a plugin that runs `body` in load_binary.
gantry_code load_binary(const std::function<void()>& body) {
  StatusBuffer status;
  return call_plugin(
      status, "load_binary", "acme.npu", [] { return std::string("plugin acme.npu"); },
      [&](gantry_status*) -> gantry_code {
        body();
        return GANTRY_OK;
      });
}

class ThreadThatMustLast : public ::testing::Test {
 protected:
  ThreadThatMustLast() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

char thread_result = 0;

constexpr const char* text =
    "^gantry: plugin acme.npu ended a thread in load_binary by pthread_exit\\(\\) or "
    "pthread_cancel\\(\\), which ends this process with status 70\n$";

TEST_F(ThreadThatMustLast, EndsTheProcessIfAPluginCallsPthreadExit) {
  EXPECT_EXIT(
      {
        keep_this_thread();
        load_binary([] { pthread_exit(nullptr); });
        _exit(0);
      },
      ::testing::ExitedWithCode(70), text);
}

// The call has no cancellation point.
TEST_F(ThreadThatMustLast, EndsTheProcessIfAPluginCancelsIt) {
  EXPECT_EXIT(
      {
        keep_this_thread();
        load_binary([] { pthread_cancel(pthread_self()); });
        _exit(0);
      },
      ::testing::ExitedWithCode(70), text);
}

TEST_F(ThreadThatMustLast, IsNotCancelledOutsideOfCalls) {
  EXPECT_EXIT(
      {
        keep_this_thread();
        const gantry_code code = load_binary([] {});
        pthread_cancel(pthread_self());
        pthread_testcancel();
        _exit(code == GANTRY_OK && is_thread_kept() ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "^$");
}

// HOST-15 of ABI.md.
TEST(ThreadOfTheApplication, IsUnwound) {
  pthread_t thread{};
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        load_binary([] { pthread_exit(&thread_result); });
        return nullptr;
      },
      nullptr);
  void* result = nullptr;
  pthread_join(thread, &result);

  EXPECT_EQ(result, &thread_result);
}

}  // namespace
}  // namespace gantry
