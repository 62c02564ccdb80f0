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

// A call without elements is left out only where that is its one output.
TEST_F(RelayBatches, AreUsedForSeveralOutputsOfWhichTheLastHasNoElements) {
  const auto pair = code.packed("pair");
  code.function("main", {"x"}, 12);
  code.tensor(dtypes::float32, {2}, 16, 2, 5);
  code.tensor(dtypes::float32, {0}, 16, 6, 9);
  code.invoke_packed(pair, {0, 5, 9}, 2);
  code.invoke_packed(pair, {0, 5, 9}, 2);
  code.ret(5);
  int pairs = 0;
  fake.add_function(
      "pair", [&](const gantry_env*, std::span<const gantry_value>, gantry_value*, gantry_status*) {
        ++pairs;
        return GANTRY_OK;
      });
  start();

  (void)result("main", {floats({1})});

  EXPECT_EQ(pairs, 2);
  EXPECT_EQ(fake.batch_runs, 1);
}

// Calls of one batch run on one device.
TEST_F(RelayBatches, AreNotUsedForTwoDevices) {
  const auto field = code.device(handles.type);
  std::vector<std::int32_t> types;
  const auto note = code.packed("note");
  fake.add_function("note", [&](const gantry_env* env, std::span<const gantry_value>, gantry_value*,
                                gantry_status*) {
    types.push_back(env->device.type);
    return GANTRY_OK;
  });
  code.function("main", {"x"}, 12);
  code.tensor(dtypes::float32, {2}, 16, 2, 5);
  code.tensor(dtypes::float32, {2}, 16, 6, 9, field);
  code.invoke_packed(note, {0, 5});
  code.invoke_packed(note, {0, 9});
  code.ret(0);
  start(std::vector{handles});

  (void)result("main", {floats({1})});

  EXPECT_THAT(types, ElementsAre(cpu.type, handles.type));
  EXPECT_EQ(fake.batch_runs, 0);
}

// A batch is made for the devices of the machine.
TEST_F(RelayBatches, AreMadeAgainForOtherDevices) {
  const auto field = code.device(handles.type);
  const auto note = code.packed("note");
  std::vector<std::int32_t> indices;
  fake.add_function("note", [&](const gantry_env* env, std::span<const gantry_value>, gantry_value*,
                                gantry_status*) {
    indices.push_back(env->device.index);
    return GANTRY_OK;
  });
  code.function("main", {"x"}, 12);
  code.tensor(dtypes::float32, {2}, 16, 6, 9, field);
  code.invoke_packed(note, {0, 9});
  code.invoke_packed(note, {0, 9});
  code.ret(0);
  start(std::vector{handles});
  (void)result("main", {floats({1})});

  ASSERT_TRUE(machine->initialize(std::vector{gantry_device_id{4, 1}}, nullptr).ok());
  (void)result("main", {floats({1})});

  EXPECT_THAT(indices, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(fake.batch_runs, 2);
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
              ::testing::StartsWith("no batches today\n  argument 0 is input \"x\", float32[2]\n  "
                                    "argument 1 is input \"y\", float32[2]\n  in instruction 8 "));
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
