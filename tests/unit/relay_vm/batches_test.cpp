// SPDX-License-Identifier: Apache-2.0
//
// Consecutive calls of kernels.
#include "tests/unit/relay_vm/fixture.hpp"

namespace gantry::relay::test {
namespace {

using ::testing::ElementsAre;

class RelayBatches : public MachineTest {
 protected:
  RelayBatches() { fake.has_batches = true; }

  // main(x, y): ((x + y) + y) + y, in three calls.
  void assemble() {
    const auto add = code.packed("add");
    code.function("main", {"x", "y"}, 9);
    code.tensor(dtypes::float32, {2}, 16, 2, 5);
    code.tensor(dtypes::float32, {2}, 16, 2, 6);
    code.invoke_packed(add, {0, 1, 5});
    code.invoke_packed(add, {5, 1, 6});
    code.invoke_packed(add, {6, 1, 5});
    code.ret(5);
  }
};

TEST_F(RelayBatches, MakeConsecutiveCallsAtOnce) {
  assemble();
  start();

  for (int run = 1; run <= 3; ++run) {
    const Value sum = result("main", {floats({1, 2}), floats({10, 20})});
    EXPECT_THAT(elements(sum), ElementsAre(31, 62));
    EXPECT_EQ(fake.batch_runs, run);
  }
}

TEST_F(RelayBatches, FollowTheRegistersOfEachRun) {
  assemble();
  start();
  const Value held = result("main", {floats({1, 2}), floats({10, 20})});

  EXPECT_THAT(elements(result("main", {floats({3, 4}), floats({1, 1})})), ElementsAre(6, 7));
  EXPECT_THAT(elements(held), ElementsAre(31, 62));
}

TEST_F(RelayBatches, EndWhereAJumpEnters) {
  const auto add = code.packed("add");
  code.function("main", {"x", "y"}, 9);
  code.tensor(dtypes::float32, {2}, 16, 2, 5);
  code.invoke_packed(add, {0, 1, 5});
  code.invoke_packed(add, {5, 1, 5});
  code.load_integer(1, 6);
  code.branch(6, 6, 2, -2);
  code.jump(-3);
  code.ret(5);
  start();

  EXPECT_THAT(elements(result("main", {floats({1, 2}), floats({1, 1})})), ElementsAre(3, 4));
  EXPECT_EQ(fake.batch_runs, 0);
}

TEST_F(RelayBatches, NameTheCallThatFails) {
  assemble();
  code.packed("refuse");
  code.functions[0].instructions[9][1] = 1;
  start();

  const Error error = error_of("main", {floats({1, 2}), floats({10, 20})});

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(text(error),
            "refused by the test\n  in instruction 9 of function \"main\": invoke_packed     "
            "refuse(in: $5, $1; out: $6)");
}

TEST_F(RelayBatches, AreNotUsedForTuples) {
  const auto add = code.packed("add");
  code.function("main", {"pair", "y"}, 9);
  code.tensor(dtypes::float32, {2}, 16, 2, 5);
  code.invoke_packed(add, {0, 5});
  code.invoke_packed(add, {5, 1, 5});
  code.ret(5);
  start();
  const Value pair = Host(fake.table()).array({floats({1, 2}), floats({3, 4})}).value();

  EXPECT_THAT(elements(result("main", {pair, floats({1, 1})})), ElementsAre(5, 7));
  EXPECT_EQ(fake.batch_runs, 0);
}

TEST_F(RelayBatches, AreNotUsedForOutputsWithoutElements) {
  const auto refuse = code.packed("refuse");
  code.function("main", {"x"}, 9);
  code.tensor(dtypes::float32, {0}, 16, 2, 5);
  code.invoke_packed(refuse, {0, 5});
  code.invoke_packed(refuse, {0, 5});
  code.ret(5);
  start();

  EXPECT_EQ(tensor_text(*result("main", {floats({1})}).tensor()), "float32[0]");
}

TEST_F(RelayBatches, AreNotUsedWhileTheRuntimeTraces) {
  fake.tracing = true;
  assemble();
  start();

  EXPECT_THAT(elements(result("main", {floats({1, 2}), floats({10, 20})})), ElementsAre(31, 62));
  EXPECT_EQ(fake.batch_runs, 0);
}

TEST_F(RelayBatches, ReportAHostThatPreparesNone) {
  fake.batch_refusal = "no batches today";
  assemble();
  start();

  EXPECT_THAT(text(error_of("main", {floats({1, 2}), floats({10, 20})})),
              ::testing::StartsWith("no batches today\n  in instruction 8 "));
}

TEST_F(RelayBatches, AllocateNothingAfterTheFirstRun) {
  assemble();
  start();
  const std::vector<Value> args = {floats({1, 2}), floats({10, 20})};
  (void)result("main", args);

  EXPECT_EQ(allocations_of_run("main", args), 0);
}

}  // namespace
}  // namespace gantry::relay::test
