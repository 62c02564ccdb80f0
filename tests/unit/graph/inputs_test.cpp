// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

using ::testing::ElementsAre;

class Inputs : public Model {
 protected:
  Inputs() : small(executor(small_graph, {small_p0})) {}
  Value small;
};

TEST_F(Inputs, AreSetByIndexAndReadBack) {
  Floats x({2, 2}, {1, 2, 3, 4});

  ASSERT_TRUE(call(small, "set_input", {int_value(0), x.value()}).ok());

  EXPECT_THAT(floats_of(tensor_of(small, "get_input", 0)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(floats_of(tensor_of(small, "get_input", 1)), ElementsAre(10, 20, 30, 40));
}

TEST_F(Inputs, HaveIndices) {
  EXPECT_EQ(call(small, "get_input_index", {text_value("p0")})->get().i, 1);
  EXPECT_EQ(call(small, "get_input_index", {text_value("z")})->get().i, -1);
  EXPECT_EQ(call(small, "get_num_inputs")->get().i, 2);
}

struct BadCall {
  std::string name, function;
  std::vector<gantry_value> args;
  Code code;
  std::string message;
  friend void PrintTo(const BadCall& bad, std::ostream* out) { *out << bad.name; }
};
class InputsRefuse : public Inputs, public ::testing::WithParamInterface<BadCall> {};
TEST_P(InputsRefuse, AWrongCall) {
  const BadCall& bad = GetParam();

  const Result<Value> result = call(small, bad.function, bad.args);

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, bad.code);
  EXPECT_EQ(result.error().message, bad.message);
}
Floats four({4}, {5, 6, 7, 8});
Floats five({5});
INSTANTIATE_TEST_SUITE_P(
    Calls, InputsRefuse,
    ::testing::Values(
        BadCall{"UnknownName",
                "set_input",
                {text_value("z"), four.value()},
                Code::not_found,
                "input \"z\" not found; inputs: \"x\", \"p0\""},
        BadCall{"IndexPastEnd",
                "set_input",
                {int_value(2), four.value()},
                Code::invalid,
                "set_input(name or index, tensor): input index is 2, input count is 2"},
        BadCall{"NegativeIndex",
                "get_input",
                {int_value(-1)},
                Code::invalid,
                "get_input(name or index): input index is -1, input count is 2"},
        BadCall{"FloatKey",
                "get_input",
                {float_value(1)},
                Code::invalid,
                "get_input(name or index): key is a float, expected a name or an index"},
        BadCall{"NoTensor",
                "set_input",
                {int_value(0)},
                Code::invalid,
                "set_input(name or index, tensor): argument count is 1, expected 2"},
        BadCall{"IntForTensor",
                "set_input",
                {int_value(0), int_value(1)},
                Code::invalid,
                "set_input(name or index, tensor): argument 1 (tensor) is an integer, expected a "
                "tensor"},
        BadCall{"WrongSize",
                "set_input",
                {int_value(0), five.value()},
                Code::invalid,
                "fake host: source and target differ\n  while setting input \"x\" float32[2, 2]"},
        BadCall{
            "IntForName",
            "get_input_index",
            {int_value(1)},
            Code::invalid,
            "get_input_index(name): argument 0 (name) is an integer, expected a string or bytes"},
        BadCall{"TooMany",
                "get_num_inputs",
                {int_value(1)},
                Code::invalid,
                "get_num_inputs(): argument count is 1, expected 0"},
        BadCall{"OddPairs",
                "run_from_inputs",
                {int_value(1), int_value(0), text_value("x")},
                Code::invalid,
                "run_from_inputs(device type, device index, name, tensor, ...): argument count is "
                "3, expected a device "
                "and pairs of name and tensor"},
        BadCall{"NegativeDevice",
                "run_from_inputs",
                {int_value(1), int_value(-1)},
                Code::invalid,
                "run_from_inputs(device type, device index, name, tensor, ...): device is 1:-1, "
                "expected two numbers "
                "from 0 to 2147483647"},
        BadCall{"UnknownPairName",
                "run_from_inputs",
                {int_value(1), int_value(0), text_value("z"), four.value()},
                Code::not_found,
                "input \"z\" not found; inputs: \"x\", \"p0\""}),
    [](const auto& test) { return test.param.name; });

TEST_F(Inputs, RunFromInputsReturnsCopiesOfAllOutputs) {
  Floats x({2, 2}, {1, 1, 1, 1});

  const Result<Value> outputs =
      call(small, "run_from_inputs", {int_value(1), int_value(0), text_value("x"), x.value()});

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const auto items = host.items(outputs->object()).value();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_THAT(floats_of(*gantry_value_tensor(&items[0])), ElementsAre(11, 21, 31, 41));
  EXPECT_NE(gantry_value_tensor(&items[0])->data, tensor_of(small, "get_output", 0).data);
}

TEST_F(Inputs, ZeroCopyReadsTheCallersMemory) {
  Floats x({2, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(call(small, "set_input_zero_copy", {text_value("x"), x.value()}).ok());

  static_cast<float*>(x.tensor.data)[0] = 7;

  EXPECT_THAT(run(small), ElementsAre(17, 22, 33, 44));
  EXPECT_EQ(tensor_of(small, "get_input", 0).data, x.tensor.data);
}

TEST_F(Inputs, SetInputEndsAZeroCopyBinding) {
  Floats bound({2, 2}, {1, 2, 3, 4});
  Floats copied({2, 2}, {0, 0, 0, 0});
  ASSERT_TRUE(call(small, "set_input_zero_copy", {text_value("x"), bound.value()}).ok());

  ASSERT_TRUE(call(small, "set_input", {text_value("x"), copied.value()}).ok());

  EXPECT_THAT(bound.values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(run(small), ElementsAre(10, 20, 30, 40));
}

TEST_F(Inputs, ZeroCopyKeepsATensorObject) {
  {
    Floats shape({2, 2});
    const Value tensor = host.tensor_new(shape.tensor).value();
    ASSERT_TRUE(call(small, "set_input_zero_copy", {int_value(0), tensor.get()}).ok());
    std::fill_n(static_cast<float*>(tensor.tensor()->data), 4, 1.0f);
  }

  EXPECT_THAT(run(small), ElementsAre(11, 21, 31, 41));
}

TEST_F(Inputs, ZeroCopyAppliesTheByteOffset) {
  Floats x({2, 2}, {1, 2, 3, 4});
  x.tensor.data = static_cast<char*>(x.tensor.data) - 4;
  x.tensor.byte_offset = 4;

  ASSERT_TRUE(call(small, "set_input_zero_copy", {int_value(0), x.value()}).ok());

  EXPECT_EQ(tensor_of(small, "get_input", 0).byte_offset, 0u);
  EXPECT_THAT(run(small), ElementsAre(11, 22, 33, 44));
}

TEST_F(Inputs, ZeroCopyAcceptsCompactStrides) {
  Floats x({2, 2}, {1, 2, 3, 4});
  std::int64_t strides[] = {2, 1};
  x.tensor.strides = strides;

  EXPECT_TRUE(call(small, "set_input_zero_copy", {int_value(0), x.value()}).ok());
}

TEST_F(Inputs, ZeroCopyIgnoresTheStridesOfDimensionsOfSizeOne) {
  const Value flat =
      executor(replaced(small_graph, "[[2,2],[2,2],[2,2],[4]]", "[[1,4],[1,4],[1,4],[4]]"),
               {{"p0", {1, 4}, {10, 20, 30, 40}}});
  Floats x({1, 4}, {1, 2, 3, 4});
  std::int64_t strides[] = {77, 1};
  x.tensor.strides = strides;

  ASSERT_TRUE(call(flat, "set_input_zero_copy", {int_value(0), x.value()}).ok());

  EXPECT_THAT(run(flat), ElementsAre(11, 22, 33, 44));
}

TEST_F(Inputs, ZeroCopyMayBeBoundAgainByTheSameKey) {
  Floats first({2, 2}, {1, 2, 3, 4}), second({2, 2}, {5, 6, 7, 8});
  ASSERT_TRUE(call(small, "set_input_zero_copy", {text_value("x"), first.value()}).ok());

  ASSERT_TRUE(call(small, "set_input_zero_copy", {int_value(0), second.value()}).ok());

  EXPECT_THAT(run(small), ElementsAre(15, 26, 37, 48));
}

TEST_F(Inputs, OfARunHaveOutputsOnTheGivenDevice) {
  const Value outputs = call(small, "run_from_inputs", {int_value(4), int_value(0)}).value();

  EXPECT_EQ(gantry_value_tensor(&host.items(outputs.object()).value()[0])->device.type, 4);
}

TEST_F(Inputs, OfARunHaveADeviceOfTwoNumbersInRange) {
  constexpr std::int64_t max = INT32_MAX;
  const auto refused = [&](std::int64_t type, std::int64_t index) {
    const Result<Value> ran = call(small, "run_from_inputs", {int_value(type), int_value(index)});
    return !ran.ok() &&
           ran.error().message.text().find("expected two numbers") != std::string::npos;
  };

  EXPECT_TRUE(refused(-1, 0));
  EXPECT_TRUE(refused(max + 1, 0));
  EXPECT_TRUE(refused(1, max + 1));
  EXPECT_FALSE(refused(0, 0));
  EXPECT_FALSE(refused(max, 0));
  EXPECT_FALSE(refused(1, max));
}

class ZeroCopyRefuses : public Inputs {
 protected:
  std::string refusal(Floats& x) {
    const Result<Value> bound = call(small, "set_input_zero_copy", {text_value("x"), x.value()});
    EXPECT_FALSE(bound.ok());
    if (bound.ok()) return "";
    EXPECT_EQ(bound.error().code, Code::invalid);
    EXPECT_EQ(bound.error().reason, "ZERO_COPY");
    return bound.error().message.text().substr(0, bound.error().message.text().find('\n'));
  }
};

// x is also an output, whose binding would be replaced silently.
TEST_F(ZeroCopyRefuses, AnInputThatIsBoundAsAnOutput) {
  small = executor(replaced(small_graph, "[[3,0,0]]", "[[3,0,0],[0,0,0]]"), {small_p0});
  Floats x({2, 2}), out({2, 2}), copied({2, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(call(small, "set_output_zero_copy", {int_value(1), out.value()}).ok());

  EXPECT_EQ(refusal(x),
            "output \"x\" float32[2, 2] is the same value and is bound already, a value has "
            "one memory");

  ASSERT_TRUE(call(small, "set_input", {int_value(0), copied.value()}).ok());
  EXPECT_THAT(out.values(), ElementsAre(1, 2, 3, 4));
}

TEST_F(ZeroCopyRefuses, AnAddressOffTheAlignment) {
  // Sufficient for the code of most compilers, but not all.
  Floats x({2, 2}, {}, 64);
  EXPECT_EQ(refusal(x),
            concat("tensor is at ", Hex{reinterpret_cast<std::uintptr_t>(x.tensor.data)},
                   ", 64 bytes past a multiple of 128"));
}
TEST_F(ZeroCopyRefuses, AByteOffsetOffTheAlignment) {
  Floats x({2, 2});
  x.tensor.byte_offset = 4;
  EXPECT_EQ(refusal(x),
            concat("tensor is at ", Hex{reinterpret_cast<std::uintptr_t>(x.tensor.data) + 4},
                   ", 4 bytes past a multiple of 128"));
}
TEST_F(ZeroCopyRefuses, AnotherRank) {
  Floats x({4});
  EXPECT_EQ(refusal(x), "tensor is float32[4], expected float32[2, 2]");
}
TEST_F(ZeroCopyRefuses, OtherExtents) {
  Floats x({1, 4});
  EXPECT_EQ(refusal(x), "tensor is float32[1, 4], expected float32[2, 2]");
}
TEST_F(ZeroCopyRefuses, AnotherType) {
  Floats x({2, 2});
  x.tensor.dtype = {0, 32, 1};
  EXPECT_EQ(refusal(x), "tensor is int32[2, 2], expected float32[2, 2]");
}
TEST_F(ZeroCopyRefuses, AnotherDevice) {
  Floats x({2, 2});
  x.tensor.device = {2, 1};
  EXPECT_EQ(refusal(x), "tensor is on device 2:1, expected device 1:0");
}
TEST_F(ZeroCopyRefuses, Strides) {
  Floats x({2, 2});
  std::int64_t strides[] = {1, 2};
  x.tensor.strides = strides;
  EXPECT_EQ(refusal(x), "tensor float32[2, 2] has strides, expected dense rows");
}

TEST_F(Inputs, OnHandleDevicesNeedNoAlignment) {
  std::string graph = replaced(small_graph, "[1,1,1,1]", "[4,4,4,4]");
  const Value factory = load(payload_bytes(graph, {})).value();
  const Value executor = call(factory, "default", {device_value(gantry::test::handles)}).value();
  Floats shape({2, 2});
  shape.tensor.device = gantry::test::handles;
  // The handle is odd.
  const Value tensor = host.tensor_new(shape.tensor).value();

  EXPECT_TRUE(call(executor, "set_input_zero_copy", {int_value(0), tensor.get()}).ok());
  EXPECT_EQ(tensor_of(executor, "get_input", 0).data, tensor.tensor()->data);

  gantry_tensor within = *tensor.tensor();
  within.byte_offset = 64;
  const Result<Value> refused =
      call(executor, "set_input_zero_copy", {int_value(0), tensor_ref_value(&within)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "tensor begins 64 bytes into its memory, expected 0: addresses on device 4:0 are handles\n"
      "  while binding input \"x\" float32[2, 2]");
}

}  // namespace
}  // namespace gantry::graph::test
