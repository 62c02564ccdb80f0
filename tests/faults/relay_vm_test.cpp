// SPDX-License-Identifier: Apache-2.0
//
// Loads and runs a Relay executable while allocations fail, one in each run, and counts those of
// later runs.
#include "tests/faults/fail_nth.h"
#include "tests/golden/golden_array.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <string>

namespace gantry {
namespace {

class RelayWithoutMemory : public ::testing::Test {
 protected:
  // Returns true if the output is TVM's.
  bool is_expected(const Any& output) const {
    const auto tensor = output.tensor();
    return tensor.ok() && tensor->byte_size() == row_.byte_size() &&
           std::memcmp(tensor->data(), row_.data(), row_.byte_size()) == 0;
  }
  // Loads the artifact, makes a machine and runs it.
  Result<Any> run() {
    GANTRY_TRY(const Module model, runtime_.load(artifact_));
    GANTRY_TRY(const Function load, model.function("vm_load_executable"));
    GANTRY_TRY(const Any made, load(gantry_device_id{1, 0}));
    GANTRY_TRY(const Module machine, made.module());
    GANTRY_TRY(const Function main, machine.function("main"));
    return main(x_);
  }
  bool runs() {
    const auto output = run();
    return output.ok() && is_expected(*output);
  }

  Runtime runtime_ = [] {
    RuntimeOptions options = test::built_plugins_only();
    options.threads = 1;
    return test::new_runtime(std::move(options));
  }();
  const std::string artifact_ = test::golden("tvm-0.12/digits_mlp_vm_llvm.so").string();
  // A tensor of its own: rows begin within the memory of all and are copied.
  const Tensor x_ = [&] {
    const Tensor all = test::golden_array(runtime_, "tvm-0.12/digits_mlp.input.npz", "x");
    const Tensor made = runtime_.tensor({1, 64}, {2, 32, 1}).value();
    EXPECT_TRUE(runtime_.copy(*all.row(5), made).ok());
    return made;
  }();
  const Tensor row_ =
      test::golden_array(runtime_, "tvm-0.12/digits_mlp_llvm.expected.npz", "output")
          .row(5)
          .value();
};

TEST_F(RelayWithoutMemory, FailsAndRunsAgain) {
  ASSERT_TRUE(runs());
  unsigned long refused = 0;
  for (unsigned long nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    fail_nth_arm(nth);
    const bool done = runs();
    fail_nth_disarm();
    if (fail_nth_fired() == 0) {
      EXPECT_TRUE(done);
      break;
    }
    refused += !done;
    // The first failure of an allocation may fill caches.
    ASSERT_TRUE(runs());
    const long before = fail_nth_live();
    fail_nth_arm(nth);
    (void)runs();
    fail_nth_disarm();
    ASSERT_TRUE(runs());
    ASSERT_EQ(fail_nth_live(), before) << "blocks";
  }
  EXPECT_GT(refused, 20u);
}

TEST_F(RelayWithoutMemory, RunsWithoutAnAllocationAfterTheFirstRun) {
  const Module model = runtime_.load(artifact_).value();
  const Module machine =
      (*model.function("vm_load_executable"))(gantry_device_id{1, 0})->module().value();
  const Function main = machine.function("main").value();
  ASSERT_TRUE(is_expected(*main(x_)));

  fail_nth_arm(0);
  bool is_right = true;
  for (int i = 0; i < 100; ++i) {
    const auto output = main(x_);
    is_right = is_right && output.ok();
  }
  const unsigned long allocations = fail_nth_disarm();

  EXPECT_TRUE(is_right);
  EXPECT_EQ(allocations, 0u);
  EXPECT_TRUE(is_expected(*main(x_)));
}

}  // namespace
}  // namespace gantry
