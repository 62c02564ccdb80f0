// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

using ::testing::ElementsAre;

class Outputs : public Model {
 protected:
  Outputs() : small(executor(small_graph, {small_p0})) {
    Floats x({2, 2}, {1, 2, 3, 4});
    EXPECT_TRUE(call(small, "set_input", {text_value("x"), x.value()}).ok());
  }
  Value small;
};

TEST_F(Outputs, AreNamedByNodeWithAndWithoutNumber) {
  run(small);

  for (const char* name : {"y", "y:0"}) {
    const Result<Value> output = call(small, "get_output", {text_value(name)});
    ASSERT_TRUE(output.ok()) << output.error().message;
    EXPECT_THAT(floats_of(*output->tensor()), ElementsAre(11, 22, 33, 44));
  }
}

TEST_F(Outputs, AreCountedAndCopiedOut) {
  Floats out({4});
  run(small);

  ASSERT_TRUE(call(small, "get_output", {int_value(0), out.value()}).ok());

  EXPECT_THAT(out.values(), ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(call(small, "get_num_outputs")->get().i, 1);
}

TEST_F(Outputs, AreCopiedOnlyToTheSameShape) {
  Floats out({2, 2});

  const Result<Value> copied = call(small, "get_output", {int_value(0), out.value()});

  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Code::invalid);
  EXPECT_EQ(
      copied.error().message,
      "get_output(name or index[, tensor]): tensor has another shape than output \"y\" float32[4]");
}

TEST_F(Outputs, RejectUnknownKeys) {
  const Result<Value> by_name = call(small, "get_output", {text_value("z")});
  const Result<Value> by_index = call(small, "get_output", {int_value(1)});

  ASSERT_FALSE(by_name.ok());
  EXPECT_EQ(by_name.error().code, Code::not_found);
  EXPECT_EQ(by_name.error().message, "output \"z\" not found; outputs: \"y\"");
  ASSERT_FALSE(by_index.ok());
  EXPECT_EQ(by_index.error().code, Code::invalid);
  EXPECT_EQ(by_index.error().message,
            "get_output(name or index[, tensor]): output index is 1, output count is 1");
}

// The operator writes the reshape's input, so the binding must apply to it through the __nop.
TEST_F(Outputs, ZeroCopyReachesTheOperatorThroughAReshape) {
  Floats out({4});

  ASSERT_TRUE(call(small, "set_output_zero_copy", {text_value("y:0"), out.value()}).ok());

  run(small);
  EXPECT_THAT(out.values(), ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(tensor_of(small, "get_output", 0).data, out.tensor.data);
}

TEST_F(Outputs, ZeroCopyDoesNotAffectOtherEntriesOfTheSlot) {
  // The output's slot also contains x; the binding must apply to the output only.
  const Value executor =
      this->executor(replaced(small_graph, "[0,1,2,2]", "[2,1,2,2]"), {small_p0});
  Floats x({2, 2}, {1, 2, 3, 4}), out({4});

  ASSERT_TRUE(call(executor, "set_output_zero_copy", {int_value(0), out.value()}).ok());
  ASSERT_TRUE(call(executor, "set_input", {int_value(0), x.value()}).ok());

  EXPECT_THAT(out.values(), ElementsAre(0, 0, 0, 0));
  run(executor);
  EXPECT_THAT(out.values(), ElementsAre(11, 22, 33, 44));
}

TEST_F(Outputs, ZeroCopyIsCheckedLikeAnInput) {
  Floats out({2, 2});

  const Result<Value> bound = call(small, "set_output_zero_copy", {int_value(0), out.value()});

  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code, Code::invalid);
  EXPECT_EQ(
      bound.error().message,
      "tensor is float32[2, 2], expected float32[4]\n  while binding output \"y\" float32[4]");
}

// y is a reshape of add, and both are outputs: an operator writes one memory only.
constexpr char both_shapes[] = "[[2,0,0],[3,0,0]]";

TEST_F(Outputs, ThatAreTheSameValueAreBoundOnce) {
  const Value executor =
      this->executor(replaced(small_graph, "[[3,0,0]]", both_shapes), {small_p0});
  Floats x({2, 2}, {1, 2, 3, 4}), first({2, 2}), second({4}), moved({2, 2});
  ASSERT_TRUE(call(executor, "set_input", {int_value(0), x.value()}).ok());
  ASSERT_TRUE(call(executor, "set_output_zero_copy", {int_value(0), first.value()}).ok());

  const Result<Value> again =
      call(executor, "set_output_zero_copy", {int_value(1), second.value()});

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_EQ(again.error().reason, "ZERO_COPY");
  EXPECT_EQ(again.error().message,
            "output \"add\" float32[2, 2] is the same value and is bound already, a value has "
            "one memory\n  while binding output \"y\" float32[4]");
  run(executor);
  EXPECT_THAT(first.values(), ElementsAre(11, 22, 33, 44));

  ASSERT_TRUE(call(executor, "set_output_zero_copy", {int_value(0), moved.value()}).ok());
  run(executor);
  EXPECT_THAT(moved.values(), ElementsAre(11, 22, 33, 44));
}

TEST_F(Outputs, ThatAreListedTwiceAreBoundOnce) {
  const Value executor =
      this->executor(replaced(small_graph, "[[3,0,0]]", "[[3,0,0],[3,0,0]]"), {small_p0});
  Floats first({4}), second({4});
  ASSERT_TRUE(call(executor, "set_output_zero_copy", {int_value(1), first.value()}).ok());

  const Result<Value> again =
      call(executor, "set_output_zero_copy", {int_value(0), second.value()});

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().reason, "ZERO_COPY");
}

TEST_F(Outputs, RejectABindingOfABoundInput) {
  const Value executor =
      this->executor(replaced(small_graph, "[[3,0,0]]", "[[0,0,0]]"), {small_p0});
  Floats x({2, 2}, {1, 2, 3, 4}), out({2, 2});
  ASSERT_TRUE(call(executor, "set_input_zero_copy", {int_value(0), x.value()}).ok());

  const Result<Value> bound = call(executor, "set_output_zero_copy", {int_value(0), out.value()});

  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().reason, "ZERO_COPY");
  EXPECT_EQ(bound.error().message,
            "input \"x\" float32[2, 2] is the same value and is bound already, a value has "
            "one memory\n  while binding output \"x\" float32[2, 2]");
  // No binding has changed.
  EXPECT_THAT(out.values(), ElementsAre(0, 0, 0, 0));
}

// An output that is an input is written by set_input, not by an operator.
TEST_F(Outputs, ThatAreInputsHaveTheirValues) {
  const Value executor =
      this->executor(replaced(small_graph, "[[3,0,0]]", "[[0,0,0]]"), {small_p0});
  Floats first({2, 2}, {1, 2, 3, 4}), second({2, 2}, {5, 6, 7, 8}), out({2, 2});
  ASSERT_TRUE(call(executor, "set_input", {int_value(0), first.value()}).ok());

  ASSERT_TRUE(call(executor, "set_output_zero_copy", {int_value(0), out.value()}).ok());
  EXPECT_THAT(out.values(), ElementsAre(1, 2, 3, 4));

  ASSERT_TRUE(call(executor, "set_input", {int_value(0), second.value()}).ok());
  EXPECT_THAT(out.values(), ElementsAre(5, 6, 7, 8));
}

}  // namespace
}  // namespace gantry::graph::test
