// SPDX-License-Identifier: Apache-2.0
//
// Case 72: a cancelled run stops at the next operator. The ABI has no deadlines: an application
// cancels a run when its deadline has passed.
#include "under_test.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace gantry::conformance {
namespace {

using std::chrono::steady_clock;

// Path of a model for the device.
std::string model_of(const UnderTest& device) {
  const std::string_view kind = device.kind;
  if (kind == "abacus" || kind == "soroban") return path_of(device);
  const std::string target = kind == "cpu"    ? "llvm"
                             : kind == "cuda" ? "cuda_ptx75"
                                              : std::string(kind);
  const std::string file = "tvm-0.12/digits_mlp_" + target + ".so";
  return path_of({device.kind, file.c_str(), ""});
}

class DeviceRun : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto loaded = runtime->load(model_of(GetParam()));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    auto made = Executor::create(*runtime, *loaded, {name()});
    ASSERT_TRUE(made.ok()) << made.error().message;
    executor = std::move(*made);
    run = executor->module().function("run").value();
  }

  std::optional<Executor> executor;
  Function run;
};

TEST_P(DeviceRun, CancelledBeforeItStartsCallsNoOperator) {
  const Task task = Task::create().value();
  task.cancel();
  const gantry_env env = task.env({device.id.type, 0});

  const auto cancelled = run.call({}, &env);

  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, Code::cancelled);
  EXPECT_EQ(cancelled.error().reason, "CANCELLED");
  const Status again = executor->run();
  EXPECT_TRUE(again.ok()) << "another task is not cancelled: " << again.error().message;
  EXPECT_TRUE(synchronize().ok());
}

TEST_P(DeviceRun, StopsSoonAfterItIsCancelled) {
  const Task task = Task::create().value();
  const gantry_env env = task.env({device.id.type, 0});
  std::atomic<int> runs{0};
  Code ended = Code::ok;
  steady_clock::time_point stopped;
  std::thread worker([&] {
    for (;;) {
      const auto called = run.call({}, &env);
      if (called.ok()) {
        ++runs;
        if (synchronize().ok()) continue;
      }
      ended = called.ok() ? Code::bug : called.error().code;
      stopped = steady_clock::now();
      return;
    }
  });
  while (runs < 3) std::this_thread::yield();

  const auto cancel_time = steady_clock::now();
  task.cancel();
  worker.join();

  EXPECT_EQ(ended, Code::cancelled);
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(stopped - cancel_time).count();
  // A run stops within about 100 ms of the end of a kernel. The limit is higher because the kernel
  // itself takes longer on a busy machine or under a sanitizer.
  EXPECT_LT(waited, 2000);
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceRun, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
