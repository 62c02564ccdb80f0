// SPDX-License-Identifier: Apache-2.0
//
// What the instructions do.
#include "tests/support/placed_bytes.hpp"
#include "tests/unit/relay_vm/fixture.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>

namespace gantry::relay::test {
namespace {

using gantry::test::offset_of;
using gantry::test::PlacedBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Relay = MachineTest;

TEST_F(Relay, CallsAKernel) {
  add_main(code);
  start();

  const Value sum = result("main", {floats({1, 2}), floats({10, 20})});

  EXPECT_THAT(elements(sum), ElementsAre(11, 22));
  EXPECT_EQ(tensor_text(*sum.tensor()), "float32[2]");
}

TEST_F(Relay, RunsTheCodeOfEveryRelease) {
  for (const char* const version : {"0.8.0", "0.9.0", "0.13.0", "0.14.0", "0.19.0"}) {
    code = RelayAssembler(version);
    add_main(code);
    start();

    EXPECT_THAT(elements(result("main", {floats({1, 2}), floats({3, 4})})), ElementsAre(4, 6))
        << version;
  }
}

TEST_F(Relay, ReturnsArgumentsThemselves) {
  code.function("same", {"x"}, 2);
  code.move(0, 1);
  code.ret(1);
  start();
  const Value x = floats({1});

  EXPECT_EQ(result("same", {x}).object(), x.object());
}

// Every machine over the executable uses its constants, and a caller may write results.
TEST_F(Relay, ReturnsConstantsAsCopies) {
  const auto constant = code.floats({2, 1}, {5, 6});
  code.function("constant", {}, 1);
  code.load_const(constant, 0);
  code.ret(0);
  code.function("part", {}, 3);
  code.load_const(constant, 0);
  code.load_const(code.integers({2}), 1);
  code.reshape_tensor(0, 1, 2);
  code.alloc_data(0, {2}, 0);
  code.ret(0);
  start();

  write(*result("constant").tensor(), 0, 7.0f);
  write(*items(result("part")).at(0).tensor(), 1, 8.0f);

  EXPECT_THAT(elements(result("constant")), ElementsAre(5, 6));
  EXPECT_EQ(tensor_text(*items(result("part")).at(0).tensor()), "float32[2]");
}

TEST_F(Relay, ReturnsOneCopyOfAConstantThatAResultHasTwice) {
  const auto constant = code.floats({2}, {5, 6});
  code.function("twice", {}, 2);
  code.load_const(constant, 0);
  code.alloc_data(0, {0, 0}, 1);
  code.ret(1);
  start();

  const auto first = items(result("twice")), second = items(result("twice"));

  EXPECT_EQ(first.at(0).object(), first.at(1).object());
  EXPECT_NE(first.at(0).object(), second.at(0).object());
}

// A tensor by reference need not outlive the call.
TEST_F(Relay, CopiesATensorByReferenceThatIsTheResult) {
  code.function("same", {"x"}, 1);
  code.ret(0);
  start();
  const Value x = floats({1, 2});
  const gantry_value by_reference = tensor_ref_value(x.tensor());

  const auto same = machine->run(0, nullptr, {&by_reference, 1});

  ASSERT_TRUE(same.ok());
  EXPECT_NE(same->tensor()->data, x.tensor()->data);
  EXPECT_THAT(elements(*same), ElementsAre(1, 2));
}

// Compiled code accepts no tensor that begins within its memory.
TEST_F(Relay, CopiesArgumentsThatAreNotAligned) {
  add_main(code);
  start();
  const Value x = floats({1, 2, 3});
  gantry_tensor part = *x.tensor();
  std::int64_t extent = 2;
  part.shape = &extent;
  part.byte_offset = sizeof(float);
  const gantry_value args[] = {tensor_ref_value(&part), x.get()};

  const auto sum = machine->run(0, nullptr, args);

  ASSERT_TRUE(sum.ok()) << sum.error().message;
  EXPECT_THAT(elements(*sum), ElementsAre(3, 5));
  EXPECT_EQ(fake.copies.back(), 2 * sizeof(float));
}

// Code of v0.7 to v0.9 loads 128 bytes at once. What counts is the address of the first element.
TEST_F(Relay, CopiesArgumentsThatAreNotAMultipleOf128Bytes) {
  code.function("same", {"x"}, 1);
  code.ret(0);
  start();
  alignas(128) std::array<float, 256> memory{};
  std::iota(memory.begin(), memory.end(), 0.0f);
  const std::int64_t extent = 2;
  const auto is_copied = [&](std::uint64_t data_at, std::uint64_t byte_offset) {
    gantry_tensor part = compact_tensor(dtypes::float32, {&extent, 1}, cpu,
                                        reinterpret_cast<std::uint8_t*>(memory.data()) + data_at);
    part.byte_offset = byte_offset;
    const Value x = Host(fake.table()).tensor_view(part, pin()).value();
    const std::size_t before = fake.copies.size();
    const Value same = result("same", {x});
    EXPECT_EQ(elements(same).at(0), memory[(data_at + byte_offset) / sizeof(float)]);
    return fake.copies.size() != before;
  };

  for (const std::uint64_t at : {4, 8, 16, 32, 64, 96, 128 + 32, 128 + 64})
    EXPECT_TRUE(is_copied(at, 0)) << at;
  for (const std::uint64_t at : {0, 128, 256}) EXPECT_FALSE(is_copied(at, 0)) << at;
  EXPECT_FALSE(is_copied(64, 64));
  EXPECT_TRUE(is_copied(0, 64));
  EXPECT_TRUE(is_copied(128, 64));
}

// The same for constants in the file, and for those that a caller binds.
TEST_F(Relay, CopiesConstantsThatAreNotAMultipleOf128Bytes) {
  const auto constant = code.floats({2}, {5, 6});
  const auto late = code.late("late");
  code.function("main", {}, 1);
  code.load_const(constant, 0);
  code.load_const(late, 0);
  code.ret(0);
  read();
  const std::uint64_t data_at = offset_of(payload.bytes.bytes(), {5, 6});
  const std::int64_t extent = 2;

  for (const std::uint64_t past : {0, 4, 32, 64, 96}) {
    const PlacedBytes placed(payload.bytes.bytes(), data_at, past);
    gantry_blob raw = payload.blob(pin());
    raw.data = placed.bytes().data();
    Blob blob(raw, fake.node());
    loaded = Loaded::read(Host(fake.table()), blob, memory).value();
    void* const data = placed.bytes().data() + data_at;
    const gantry_tensor part = compact_tensor(dtypes::float32, {&extent, 1}, cpu, data);
    ASSERT_TRUE(loaded->bind({{"late", Host(fake.table()).tensor_view(part, pin()).value()}}).ok());

    for (const std::uint32_t index : {0u, 1u}) {
      const Value made = loaded->constant(index, cpu, {}, nullptr).value();
      EXPECT_EQ(made.tensor()->data == data, past == 0) << index << " at " << past;
      EXPECT_THAT(elements(made), ElementsAre(5, 6));
    }
    loaded.reset();
  }
}

TEST_F(Relay, RefusesArgumentsThatAreNotDense) {
  add_main(code);
  start();
  const Value x = floats({1, 2, 3, 4});
  gantry_tensor every_second = *x.tensor();
  std::int64_t extent = 2, stride = 2;
  every_second.shape = &extent;
  every_second.strides = &stride;
  const gantry_value args[] = {tensor_ref_value(&every_second), x.get()};
  const std::size_t before = fake.allocations.size();

  const auto sum = machine->run(0, nullptr, args);

  ASSERT_FALSE(sum.ok());
  EXPECT_EQ(sum.error().code, Code::invalid);
  EXPECT_EQ(sum.error().reason, "ARGUMENT");
  EXPECT_EQ(text(sum.error()),
            "tensor float32[2] has strides [2], expected dense rows\n  in parameter \"x\"");
  EXPECT_EQ(fake.allocations.size(), before);
}

TEST_F(Relay, RefusesOtherArguments) {
  add_main(code);
  start();

  const Error kind = error_of("main", {floats({1}), Value::adopt(int_value(1))});
  const Error count = error_of("main", {floats({1})});

  EXPECT_EQ(kind.code, Code::invalid);
  EXPECT_EQ(text(kind),
            "value is an integer, expected a tensor or arrays of tensors, nested 256 times\n  in "
            "parameter \"y\"");
  EXPECT_EQ(kind.reason, "ARGUMENT_KIND");
  EXPECT_EQ(text(count), "function \"main\" receives 1 arguments, parameter count is 2");
  EXPECT_EQ(count.reason, "ARGUMENT_COUNT");
}

// ---- control flow

// loop(x): x + 1 until it is 5
void add_loop(RelayAssembler& code) {
  const auto step = code.packed("step");
  const auto five = code.integer(5);
  code.function("loop", {"x"}, 8);
  code.load_const(five, 1);
  code.branch(0, 1, 8, 1);
  code.load_const(code.integer(8), 2);
  code.load_const(code.integer(0), 3);
  code.alloc_storage(2, dtypes::int64, 0, 4);
  code.alloc_tensor(4, 3, dtypes::int64, {}, 5);
  code.invoke_packed(step, {0, 5});
  code.move(5, 0);
  code.jump(-7);
  code.ret(0);
}

TEST_F(Relay, JumpsAndBranches) {
  add_loop(code);
  start();

  EXPECT_THAT(elements<std::int64_t>(result("loop", {integer(2)})), ElementsAre(5));
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(elements<std::int64_t>(result("loop", {integer(5)})), ElementsAre(5));
  EXPECT_EQ(calls, 3);
}

TEST_F(Relay, EndsALoopWhoseTaskIsCancelled) {
  code.function("endless", {}, 1);
  code.kill_register(0);
  code.jump(-1);
  start();
  fake.cancelled = true;
  const int task = 0;
  const gantry_env env{cpu, nullptr, &task, nullptr};

  const auto run_of_endless = run("endless", {}, &env);

  ASSERT_FALSE(run_of_endless.ok());
  EXPECT_EQ(run_of_endless.error().code, Code::cancelled);
  EXPECT_EQ(text(run_of_endless.error()),
            "run is cancelled\n  in instruction 1 of function "
            "\"endless\": goto              0");
}

TEST_F(Relay, EndsBeforeAnOperatorOfACancelledTask) {
  add_main(code);
  start();
  fake.cancelled = true;
  const int task = 0;
  const gantry_env env{cpu, nullptr, &task, nullptr};

  const auto sum = run("main", {floats({1}), floats({2})}, &env);

  ASSERT_FALSE(sum.ok());
  EXPECT_EQ(sum.error().code, Code::cancelled);
  EXPECT_THAT(text(sum.error()), HasSubstr("is cancelled\n  in instruction"));
}

TEST_F(Relay, ComparesIntegersOfAnyWidth) {
  const auto one = code.integer(1);
  code.function("is_one", {"x"}, 4);
  code.load_const(one, 1);
  code.branch(0, 1, 1, 3);
  code.load_integer(10, 2);
  code.ret(2);
  code.load_integer(20, 2);
  code.ret(2);
  start();
  const auto chosen = [&](const Value& x) {
    return elements<std::int64_t>(result("is_one", {x})).at(0);
  };

  EXPECT_EQ(chosen(tensor(dtypes::int8, {}, std::vector<std::int8_t>{1})), 10);
  EXPECT_EQ(chosen(tensor(dtypes::int16, {1}, std::vector<std::int16_t>{1})), 10);
  EXPECT_EQ(chosen(tensor(dtypes::int32, {}, std::vector<std::int32_t>{-1})), 20);
  EXPECT_EQ(chosen(tensor({1, 1, 1}, {}, std::vector<std::uint8_t>{1})), 10);
  EXPECT_EQ(chosen(tensor({6, 8, 1}, {}, std::vector<std::uint8_t>{0})), 20);
}

// recursive(x): itself with x + 1 until it is 5
TEST_F(Relay, InvokesFunctions) {
  const auto step = code.packed("step");
  code.function("recursive", {"x"}, 8);
  code.load_const(code.integer(5), 1);
  code.branch(0, 1, 5, 1);
  code.tensor(dtypes::int64, {}, 8, 2, 5);
  // The three instructions between have replaced the distance.
  code.functions[0].instructions[1][3] = 7;
  code.invoke_packed(step, {0, 5});
  code.invoke(0, {5}, 0);
  code.ret(0);
  code.functions[0].instructions[1] = {10, 0, 1, 7, 1};
  start();

  EXPECT_THAT(elements<std::int64_t>(result("recursive", {integer(1)})), ElementsAre(5));
  EXPECT_EQ(calls, 4);
}

TEST_F(Relay, StopsRecursionWithoutEnd) {
  code.function("main", {"x"}, 2);
  code.kill_register(1);
  code.invoke(0, {0}, 1);
  code.ret(1);
  start({}, {.depth = 100, .transfers = UINT64_MAX});

  const Error error = error_of("main", {integer(1)});

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "VM_DEPTH");
  EXPECT_EQ(text(error),
            "functions of the virtual machine call each other 100 times within each other with "
            "200 registers, limits are 100 and 16777216\n  in instruction 1 of function \"main\": "
            "invoke            $1 = main($0)");
}

TEST_F(Relay, AllowsDeepRecursionAndLimitsIt) {
  code.function("main", {"x"}, 2);
  code.invoke(0, {0}, 1);
  code.ret(1);
  start();

  EXPECT_THAT(text(error_of("main", {integer(1)})), HasSubstr(" 65536 times within each other"));
}

TEST_F(Relay, LimitsTheRegistersOfAllFunctions) {
  constexpr std::int64_t count = 1 << 12;
  code.function("main", {"x"}, count);
  code.invoke(0, {0}, 1);
  code.ret(1);
  for (std::int64_t reg = 0; reg < count; ++reg) code.kill_register(reg);
  code.ret(1);
  start({}, {.registers = 16 * count});

  EXPECT_EQ(MachineLimits().registers, 16'777'216u);
  EXPECT_THAT(text(error_of("main", {integer(1)})), HasSubstr("16 times within each other with "
                                                              "65536 registers"));
}

TEST_F(Relay, LimitsJumpsAndCallsIfRequested) {
  code.function("endless", {}, 1);
  code.kill_register(0);
  code.jump(-1);
  start({}, {.depth = 10, .transfers = 1000});

  EXPECT_THAT(text(error_of("endless")),
              ::testing::StartsWith("the run has made 1000 jumps and calls, the limit\n"));
}

// ---- tuples and closures

TEST_F(Relay, MakesTuples) {
  code.function("swap", {"pair"}, 5);
  code.get_field(0, 0, 1);
  code.get_field(0, 1, 2);
  code.alloc_data(0, {2, 1, 0}, 3);
  code.ret(3);
  start();
  const Value a = floats({1}), b = floats({2});
  const Value pair = Host(fake.table()).array({a, b}).value();

  const auto swapped = items(result("swap", {pair}));

  ASSERT_EQ(swapped.size(), 3u);
  EXPECT_EQ(swapped[0].object(), b.object());
  EXPECT_EQ(swapped[1].object(), a.object());
  EXPECT_EQ(items(swapped[2]).size(), 2u);
}

TEST_F(Relay, ReadsTags) {
  code.function("tag", {}, 3);
  code.alloc_data(7, {}, 0);
  code.get_tag(0, 1);
  code.ret(1);
  start();

  const Value tag = result("tag");

  EXPECT_EQ(tensor_text(*tag.tensor()), "int32[1]");
  EXPECT_THAT(elements<std::int32_t>(tag), ElementsAre(7));
}

TEST_F(Relay, CallsClosuresWithWhatTheyCaptureFirst) {
  code.function("main", {"x", "y"}, 4);
  code.alloc_closure(1, {0}, 2);
  code.invoke_closure(2, {1}, 3);
  code.ret(3);
  code.function("pair", {"captured", "given"}, 3);
  code.alloc_data(0, {0, 1}, 2);
  code.ret(2);
  start();
  const Value x = floats({1}), y = floats({2});

  const auto pair = items(result("main", {x, y}));

  ASSERT_EQ(pair.size(), 2u);
  EXPECT_EQ(pair[0].object(), x.object());
  EXPECT_EQ(pair[1].object(), y.object());
}

TEST_F(Relay, PassesTuplesToKernelsAsTheirFields) {
  const auto add = code.packed("add");
  code.function("main", {"pair"}, 6);
  code.tensor(dtypes::float32, {2}, 8, 1, 4);
  code.invoke_packed(add, {0, 4});
  code.ret(4);
  start();
  const Value pair = Host(fake.table()).array({floats({1, 2}), floats({3, 4})}).value();

  EXPECT_THAT(elements(result("main", {pair})), ElementsAre(4, 6));
}

// A list of 100,000 items: releasing it takes no stack.
TEST_F(Relay, ReleasesDeepNestingOneByOne) {
  const auto step = code.packed("step");
  code.function("nest", {}, 9);
  code.load_const(code.integer(100000), 0);
  code.load_const(code.integer(0), 1);
  code.alloc_data(0, {}, 2);
  code.load_const(code.integer(8), 3);
  code.alloc_storage(3, dtypes::int64, 0, 4);
  code.load_const(code.integer(0), 5);
  code.alloc_tensor(4, 5, dtypes::int64, {}, 6);
  code.alloc_data(1, {2}, 2);
  code.invoke_packed(step, {1, 6});
  code.move(6, 1);
  code.branch(1, 0, 1, -3);
  code.get_tag(2, 7);
  code.ret(7);
  start();
  // Constant 1 is the counter, which is not written: it is only the first argument.

  EXPECT_THAT(elements<std::int32_t>(result("nest")), ElementsAre(1));
}

TEST_F(Relay, LimitsTheNestingAndTheItemsOfResults) {
  code.function("nested", {}, 4);
  code.load_const(code.integer(5), 0);
  code.alloc_data(0, {0}, 1);
  for (int i = 0; i < 256; ++i) code.alloc_data(0, {1}, 1);
  code.ret(1);
  code.function("wide", {}, 4);
  code.load_const(code.integer(5), 0);
  code.alloc_data(0, {0, 0}, 1);
  for (int i = 0; i < 40; ++i) code.alloc_data(0, {1, 1}, 1);
  code.ret(1);
  start();

  EXPECT_EQ(text(error_of("nested")),
            "tuples are nested more than 256 times, the limit\n  in the result of \"nested\"");
  EXPECT_EQ(text(error_of("wide")),
            "the result has more than 65536 items, the limit\n  in the result of \"wide\"");
}

// ---- shapes

TEST_F(Relay, AllocatesTensorsOfShapesThatAreComputed) {
  const auto add = code.packed("add");
  code.function("main", {"x", "y"}, 9);
  code.shape_of(0, 2);
  code.load_const(code.integer(64), 3);
  code.load_const(code.integer(0), 4);
  code.alloc_storage(3, dtypes::float32, 0, 5);
  code.alloc_tensor_reg(5, 4, 2, dtypes::float32, 6);
  code.invoke_packed(add, {0, 1, 6});
  code.ret(6);
  start();

  EXPECT_THAT(elements(result("main", {floats({1, 2, 3}), floats({1, 1, 1})})),
              ElementsAre(2, 3, 4));
  EXPECT_THAT(elements(result("main", {floats({1}), floats({1})})), ElementsAre(2));
}

TEST_F(Relay, AcceptsShapesOfInt32AndScalars) {
  code.function("main", {"shape"}, 6);
  code.load_const(code.integer(64), 1);
  code.load_const(code.integer(0), 2);
  code.alloc_storage(1, dtypes::float32, 0, 3);
  code.alloc_tensor_reg(3, 2, 0, dtypes::float32, 4);
  code.ret(4);
  start();

  const Value narrow =
      result("main", {tensor(dtypes::int32, {2}, std::vector<std::int32_t>{2, 3})});
  const Value scalar = result("main", {integer(7)});

  EXPECT_EQ(tensor_text(*narrow.tensor()), "float32[2, 3]");
  EXPECT_EQ(tensor_text(*scalar.tensor()), "float32[]");
}

TEST_F(Relay, ReshapesWithoutACopy) {
  code.function("main", {"x"}, 4);
  code.load_const(code.integers({2, 3}), 1);
  code.reshape_tensor(0, 1, 2);
  code.ret(2);
  start();
  const Value x = floats({1, 2, 3, 4, 5, 6});

  const Value reshaped = result("main", {x});

  EXPECT_EQ(tensor_text(*reshaped.tensor()), "float32[2, 3]");
  EXPECT_EQ(reshaped.tensor()->data, x.tensor()->data);
}

TEST_F(Relay, MakesNoCallForAnOutputWithoutElements) {
  const auto refuse = code.packed("refuse");
  code.function("main", {"x"}, 6);
  code.tensor(dtypes::float32, {0, 4}, 0, 1, 4);
  code.invoke_packed(refuse, {0, 4});
  code.ret(4);
  start();

  EXPECT_EQ(tensor_text(*result("main", {floats({1})}).tensor()), "float32[0, 4]");
}

// A call is left out only where the output without elements is its one output.
TEST_F(Relay, MakesACallWithSeveralOutputsOfWhichTheLastHasNoElements) {
  const auto pair = code.packed("pair");
  code.function("main", {"x"}, 12);
  code.tensor(dtypes::float32, {2}, 16, 1, 4);
  code.tensor(dtypes::float32, {0}, 16, 5, 8);
  code.invoke_packed(pair, {0, 4, 8}, 2);
  code.ret(4);
  fake.add_function("pair", [&](const gantry_env*, std::span<const gantry_value> args,
                                gantry_value*, gantry_status*) {
    write(*gantry_value_tensor(&args[1]), 0, 3.0f);
    write(*gantry_value_tensor(&args[1]), 1, 4.0f);
    return GANTRY_OK;
  });
  start();

  EXPECT_THAT(elements(result("main", {floats({1})})), ElementsAre(3, 4));
}

TEST_F(Relay, PassesSeveralTuplesAndTensorsInTheirOrder) {
  const auto note = code.packed("note");
  code.function("main", {"pair", "x", "other"}, 3);
  code.invoke_packed(note, {0, 1, 2, 1});
  code.ret(1);
  std::vector<float> seen;
  fake.add_function("note", [&](const gantry_env*, std::span<const gantry_value> args,
                                gantry_value*, gantry_status*) {
    for (const gantry_value& arg : args) seen.push_back(read<float>(*gantry_value_tensor(&arg), 0));
    return GANTRY_OK;
  });
  start();
  const Host host(fake.table());
  const Value pair = host.array({floats({1}), floats({2})}).value();
  const Value other = host.array({floats({4}), floats({5}), floats({6})}).value();

  (void)result("main", {pair, floats({3}), other});

  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6, 3));
}

// A tensor may end where its storage ends, and an empty one may begin there.
TEST_F(Relay, PlacesTensorsUpToTheEndOfTheirStorage) {
  const auto last = [&](std::int64_t offset, std::int64_t extent) {
    code = RelayAssembler();
    code.function("main", {}, 6);
    code.load_integer(4096, 0);
    code.load_integer(offset, 1);
    code.alloc_storage(0, dtypes::uint8, 0, 2);
    code.alloc_tensor(2, 1, dtypes::uint8, {extent}, 3);
    code.ret(3);
    start();
    return run("main").ok();
  };

  EXPECT_TRUE(last(0, 4096));
  EXPECT_TRUE(last(1, 4095));
  EXPECT_TRUE(last(4095, 1));
  EXPECT_TRUE(last(4096, 0));
  EXPECT_FALSE(last(1, 4096));
  EXPECT_FALSE(last(4096, 1));
  EXPECT_FALSE(last(4097, 0));
}

// ---- runs after an error

// What a run has counted and kept ends with it, also if it fails.
TEST_F(Relay, RunsAfterAnErrorAsBefore) {
  const auto refuse = code.packed("refuse");
  const auto constant = code.floats({2}, {5, 6});
  code.function("fails", {"x"}, 4);
  code.invoke(1, {0}, 1);
  code.ret(1);
  code.function("inner", {"x"}, 4);
  code.invoke_packed(refuse, {0});
  code.ret(0);
  code.function("wide", {}, 4);
  code.load_const(constant, 0);
  code.alloc_data(0, {0, 0}, 1);
  for (int i = 0; i < 40; ++i) code.alloc_data(0, {1, 1}, 1);
  code.ret(1);
  code.function("good", {}, 4);
  code.load_const(constant, 0);
  code.alloc_data(0, {0, 0}, 1);
  code.ret(1);
  start();
  const Value first = items(result("good")).at(0);

  (void)error_of("fails", {floats({1})});
  (void)error_of("wide");
  const auto again = items(result("good"));

  EXPECT_EQ(again.at(0).object(), again.at(1).object());
  EXPECT_NE(again.at(0).object(), first.object());
  EXPECT_THAT(elements(again.at(0)), ElementsAre(5, 6));
}

// Registers that a run has not written have no value of the run before.
TEST_F(Relay, BeginsEachRunWithEmptyRegisters) {
  const auto refuse = code.packed("refuse");
  code.function("fails", {"x"}, 6);
  code.move(0, 5);
  code.invoke_packed(refuse, {0});
  code.ret(5);
  code.function("unset", {"x"}, 6);
  code.ret(5);
  start();

  (void)error_of("fails", {floats({1})});

  EXPECT_THAT(text(error_of("unset", {floats({1})})), HasSubstr("value is nothing"));
}

TEST_F(Relay, CountsJumpsAndCallsOfEachRun) {
  code.function("endless", {}, 1);
  code.kill_register(0);
  code.jump(-1);
  code.function("some", {}, 2);
  for (int i = 0; i < 60; ++i) code.jump(1);
  code.load_integer(1, 0);
  code.ret(0);
  start({}, {.depth = 10, .transfers = 100});

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run("some").ok());
  EXPECT_EQ(error_of("endless").reason, "VM_DEPTH");
  EXPECT_THAT(elements<std::int64_t>(result("some")), ElementsAre(1));
}

// ---- errors of a run

struct WrongRun {
  std::string name;
  std::function<void(RelayAssembler&)> write;
  std::string message;
  Code code = Code::invalid;
  std::string reason = "REGISTER";
};
class RelayRunRefuses : public MachineTest, public ::testing::WithParamInterface<WrongRun> {};

// A function of 6 registers with a parameter float32[2].
TEST_P(RelayRunRefuses, NamingInstructionAndFunction) {
  code.packed("refuse");
  code.function("main", {"x"}, 6);
  GetParam().write(code);
  code.ret(0);
  start();

  const Error error = error_of("main", {floats({1, 2})});

  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_EQ(text(error), GetParam().message);
  EXPECT_EQ(error.reason, GetParam().reason);
  // The machine is usable again.
  EXPECT_EQ(text(error_of("main", {floats({1, 2})})), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Relay, RelayRunRefuses,
    ::testing::Values(
        WrongRun{"AKernel", [](auto& code) { code.invoke_packed(0, {0}); },
                 "refused by the test\n  in instruction 0 of function \"main\": invoke_packed     "
                 "refuse(in: ; out: $0)",
                 Code::unsupported, "TEST"},
        WrongRun{"AnEmptyArgument", [](auto& code) { code.invoke_packed(0, {1}); },
                 "register 1 has nothing, expected a tensor\n  in instruction 0 of function "
                 "\"main\": invoke_packed     refuse(in: ; out: $1)"},
        WrongRun{"AStorageAsArgument",
                 [](auto& code) {
                   code.load_integer(8, 1);
                   code.alloc_storage(1, dtypes::int8, 0, 2);
                   code.invoke_packed(0, {2});
                 },
                 "register 2 has a storage, expected a tensor\n  in instruction 2 of function "
                 "\"main\": invoke_packed     refuse(in: ; out: $2)"},
        WrongRun{"ATupleInATuple",
                 [](auto& code) {
                   code.alloc_data(0, {0}, 1);
                   code.alloc_data(0, {1}, 2);
                   code.invoke_packed(0, {2});
                 },
                 "register 0 has a tuple, expected a tensor\n  in instruction 2 of function "
                 "\"main\": invoke_packed     refuse(in: ; out: $2)"},
        WrongRun{"AFatalInstruction", [](auto& code) { code.fatal(); },
                 "the program has reached a fatal instruction: no case of a match applies\n  in "
                 "instruction 0 of function \"main\": fatal",
                 Code::invalid, "VM_FATAL"},
        WrongRun{"ATensorAsStorage",
                 [](auto& code) {
                   code.load_integer(0, 1);
                   code.alloc_tensor(0, 1, dtypes::float32, {2}, 2);
                 },
                 "register 0 has no storage\n  in instruction 1 of function \"main\": alloc_tensor "
                 "     $2 = float32[2] in $0 at $1"},
        WrongRun{"ATensorAsStorageOfAShape",
                 [](auto& code) {
                   code.load_integer(0, 1);
                   code.alloc_tensor_reg(0, 1, 1, dtypes::float32, 2);
                 },
                 "register 0 has no storage\n  in instruction 1 of function \"main\": "
                 "alloc_tensor_reg  $2 = float32[$1] in $0 at $1"},
        WrongRun{"ATensorBeyondItsStorage",
                 [](auto& code) {
                   code.tensor(dtypes::float32, {1024, 2}, 4096, 1, 4);
                 },
                 "tensor of 8192 bytes at offset 0 of a storage of 4096 bytes\n  in instruction 3 "
                 "of function \"main\": alloc_tensor      $4 = float32[1024, 2] in $3 at $2",
                 Code::invalid, "STORAGE"},
        WrongRun{"ANegativeOffset",
                 [](auto& code) {
                   code.load_integer(-4, 1);
                   code.load_integer(64, 2);
                   code.alloc_storage(2, dtypes::float32, 0, 3);
                   code.alloc_tensor(3, 1, dtypes::float32, {2}, 4);
                 },
                 "tensor of 8 bytes at offset -4 of a storage of 4096 bytes\n  in instruction 3 of "
                 "function \"main\": alloc_tensor      $4 = float32[2] in $3 at $1",
                 Code::invalid, "STORAGE"},
        WrongRun{"AStorageOfNegativeSize",
                 [](auto& code) {
                   code.load_integer(-1, 1);
                   code.alloc_storage(1, dtypes::float32, 0, 2);
                 },
                 "storage has -1 bytes, minimum is 0\n  in instruction 1 of function \"main\": "
                 "alloc_storage     $2 = $1 bytes, alignment 64, float32, device 0",
                 Code::invalid, "STORAGE"},
        WrongRun{"AStorageLargerThanMemory",
                 [](auto& code) {
                   code.load_integer(INT64_MAX, 1);
                   code.alloc_storage(1, dtypes::float32, 0, 2);
                 },
                 "storage has 8.0 EiB (9223372036854775807 bytes), limit is 8.0 EiB "
                 "(9223372036854771711 bytes)\n  in instruction 1 of function \"main\": "
                 "alloc_storage     $2 = $1 bytes, alignment 64, float32, device 0",
                 Code::invalid, "STORAGE"},
        WrongRun{"AFloatAsSize", [](auto& code) { code.alloc_storage(0, dtypes::float32, 0, 2); },
                 "register 0 has float32[2], expected an integer\n  in instruction 0 of function "
                 "\"main\": alloc_storage     $2 = $0 bytes, alignment 64, float32, device 0"},
        WrongRun{"AFloatAsShape",
                 [](auto& code) {
                   code.load_integer(64, 1);
                   code.alloc_storage(1, dtypes::float32, 0, 2);
                   code.alloc_tensor_reg(2, 1, 0, dtypes::float32, 3);
                 },
                 "shape is in float32[2], expected int64 or int32 of at most 32 extents\n  in "
                 "instruction 2 of function \"main\": alloc_tensor_reg  $3 = float32[$0] in $2 at "
                 "$1"},
        WrongRun{"ANegativeExtent",
                 [](auto& code) {
                   code.load_integer(-2, 1);
                   code.reshape_tensor(0, 1, 2);
                 },
                 "extent 0 is -2, minimum is 0\n  in instruction 1 of function \"main\": "
                 "reshape_tensor    $2 = $0 as [$1]"},
        WrongRun{"AReshapeToAnotherSize",
                 [](auto& code) {
                   code.load_integer(3, 1);
                   code.reshape_tensor(0, 1, 2);
                 },
                 "float32[2] as [3], which has another size\n  in instruction 1 of function "
                 "\"main\": reshape_tensor    $2 = $0 as [$1]"},
        WrongRun{"AFieldOfATensor", [](auto& code) { code.get_field(0, 0, 1); },
                 "register 0 has a tensor, expected a tuple\n  in instruction 0 of function "
                 "\"main\": get_field         $1 = $0[0]"},
        WrongRun{"AFieldThatIsNotThere",
                 [](auto& code) {
                   code.alloc_data(0, {0}, 1);
                   code.get_field(1, 1, 2);
                 },
                 "field 1 of a tuple, field count is 1\n  in instruction 1 of function \"main\": "
                 "get_field         $2 = $1[1]"},
        WrongRun{
            "AnEmptyField", [](auto& code) { code.alloc_data(0, {5}, 1); },
            "register 5 has no value\n  in instruction 0 of function \"main\": alloc_data      "
            "  $1 = tag 0 ($5)"},
        WrongRun{"ATensorAsClosure", [](auto& code) { code.invoke_closure(0, {}, 1); },
                 "register 0 has a tensor, expected a closure\n  in instruction 0 of function "
                 "\"main\": invoke_closure    $1 = $0()"},
        WrongRun{"AClosureWithTooManyArguments",
                 [](auto& code) {
                   code.alloc_closure(0, {0}, 1);
                   code.invoke_closure(1, {0}, 2);
                 },
                 "function \"main\" receives 2 arguments, parameter count is 1\n  in instruction 1 "
                 "of function \"main\": invoke_closure    $2 = $1($0)",
                 Code::invalid, "ARGUMENT_COUNT"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Relay, RefusesResultsThatAreNoTensors) {
  code.function("closure", {"x"}, 2);
  code.alloc_closure(0, {}, 1);
  code.ret(1);
  code.function("nothing", {}, 1);
  code.ret(0);
  start();

  EXPECT_EQ(text(error_of("closure", {floats({1})})),
            "value is a closure, expected a tensor or a tuple of them\n  in the result of "
            "\"closure\"");
  EXPECT_EQ(text(error_of("nothing")),
            "value is nothing, expected a tensor or a tuple of them\n  in the result of "
            "\"nothing\"");
}

TEST_F(Relay, ListsTheFunctionsThatAreMissing) {
  code.packed("step");
  code.packed("lost");
  code.packed("found not");
  code.function("main", {}, 1);
  code.fatal();
  read();

  const Status started = machine->initialize({}, nullptr);

  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().reason, "FUNCTIONS_MISSING");
  EXPECT_EQ(text(started.error()),
            "the executable requires \"lost\", \"found not\", which its library does not have");
  EXPECT_FALSE(machine->is_initialized());
}

TEST_F(Relay, RefusesAKernelThatRunsTheMachineAgain) {
  const auto again = code.packed("again");
  code.function("main", {"x"}, 1);
  code.invoke_packed(again, {0});
  code.ret(0);
  std::string inner;
  fake.add_function("again", [&](const gantry_env*, std::span<const gantry_value> args,
                                 gantry_value*, gantry_status*) {
    inner = text(machine->run(0, nullptr, args).error());
    return GANTRY_OK;
  });
  start();

  (void)result("main", {floats({1})});

  EXPECT_EQ(inner, "the virtual machine runs already; each machine runs one function at a time");
}

TEST_F(Relay, RefusesAKernelThatInitializesTheMachineAgain) {
  const auto again = code.packed("again");
  code.function("main", {"x"}, 1);
  code.invoke_packed(again, {0});
  code.ret(0);
  Error inner;
  fake.add_function("again", [&](const gantry_env*, std::span<const gantry_value>, gantry_value*,
                                 gantry_status*) {
    const Status started = machine->initialize({}, nullptr);
    if (!started.ok()) inner = started.error();
    return GANTRY_OK;
  });
  start();

  (void)result("main", {floats({1})});

  EXPECT_EQ(inner.reason, "VM_STATE");
  EXPECT_EQ(text(inner),
            "the virtual machine runs already; each machine runs one function at a time");
}

}  // namespace
}  // namespace gantry::relay::test
