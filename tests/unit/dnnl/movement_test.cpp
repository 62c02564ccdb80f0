// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements: slices, splits, padding, transposes, reductions.
#include "tests/unit/dnnl/bad_operator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gantry::dnnl_plugin::test {
namespace {

SubgraphCase padding_with_one() {
  SubgraphCase what = subgraph_case("tensorrt", "pad_value");
  const float one = 1;
  std::memcpy(what.constants[0].bytes.data(), &one, sizeof one);
  return what;
}

class DnnlRefusesMovement : public ::testing::TestWithParam<BadOperator> {};

TEST_P(DnnlRefusesMovement, WithTheOperatorAndTheAttribute) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    OneChange, DnnlRefusesMovement,
    ::testing::Values(
        BadOperator{"AxesTwice", changed("tensorrt", "transpose", "\"-1\"", "\"2\""),
                    Code::malformed,
                    "attribute \"axes\" is [0, 2, 2, 1], expected each of 4 axes once"},
        BadOperator{"SliceBehindTheEnd",
                    changed("tensorrt", "strided_slice", "\"start\": [\n     [\n      \"0\"",
                            "\"start\": [\n     [\n      \"1\""),
                    Code::malformed,
                    "takes 2 elements from 1 in steps of 1 of axis 0, which has 2"},
        BadOperator{"SliceInStepsOfZero",
                    changed("tensorrt", "strided_slice", "\"strides\": [\n     [\n      \"1\"",
                            "\"strides\": [\n     [\n      \"0\""),
                    Code::malformed,
                    "takes 2 elements from 0 in steps of 0 of axis 0, which has 2"},
        BadOperator{"SliceOfNothing",
                    changed("tensorrt", "strided_slice", "\"size\": [\n     [\n      \"2\"",
                            "\"size\": [\n     [\n      \"0\""),
                    Code::malformed,
                    "takes 0 elements from 0 in steps of 1 of axis 0, which has 2"},
        BadOperator{"SliceBeforeTheStart",
                    changed("tensorrt", "strided_slice", "\"start\": [\n     [\n      \"0\"",
                            "\"start\": [\n     [\n      \"-1\""),
                    Code::malformed,
                    "takes 2 elements from -1 in steps of 1 of axis 0, which has 2"},
        BadOperator{"SliceInStepsThatLeaveTheTensor",
                    changed("tensorrt", "strided_slice", "\"strides\": [\n     [\n      \"1\"",
                            "\"strides\": [\n     [\n      \"9223372036854775807\""),
                    Code::malformed,
                    "takes 2 elements from 0 in steps of 9223372036854775807 of axis 0, which has "
                    "2"},
        BadOperator{
            "SplitInMoreThanThereIs",
            changed("tensorrt", "split", "3,\n       2,\n       5", "3,\n       3,\n       5"),
            Code::malformed, "takes 1 elements from 4 in steps of 1 of axis 2, which has 4"},
        BadOperator{"PaddingOfOtherShapes",
                    changed("tensorrt", "pad", "\"padding\": [\n     [\n      \"1\"",
                            "\"padding\": [\n     [\n      \"2\""),
                    Code::malformed,
                    "attribute \"padding\" is [2, 0, 2, 3], shapes are [2, 3, 4, 5] and "
                    "[2, 3, 7, 8]"},
        BadOperator{
            "PaddingOfMoreImages",
            changed("tensorrt", "pad", "2,\n       3,\n       7", "3,\n       3,\n       7"),
            Code::malformed,
            "shape [2, 3, 4, 5] gives [3, 3, 7, 8], expected two or more dimensions, of which only "
            "the last two change"},
        BadOperator{
            "PaddingWithAnotherValue", padding_with_one(), Code::unsupported,
            "operator \"tensorrt.nn.pad\": input 1, the value, is not a constant 0, supported "
            "is 0"},
        BadOperator{"ReductionThatExcludes",
                    changed("tensorrt", "sum", attribute("exclude", "\"0\""),
                            attribute("exclude", "\"1\"")),
                    Code::unsupported, "attribute \"exclude\" is \"1\", supported are 0"},
        BadOperator{"ReductionOfAnotherAxis",
                    changed("tensorrt", "sum", attribute("axis", "\"2\",\n      \"3\""),
                            attribute("axis", "\"2\",\n      \"9\"")),
                    Code::malformed, "attribute \"axis\" has 9, range is -4 to 3"},
        BadOperator{"ReductionToAnotherShape",
                    changed("tensorrt", "sum", attribute("axis", "\"2\",\n      \"3\""),
                            attribute("axis", "\"2\"")),
                    Code::malformed, "gives [2, 3, 1, 5], the sub-graph has [2, 3]"},
        BadOperator{
            "LayoutLetterTwice", changed("tensorrt", "layout_transform", "\"NCHW\"", "\"NNHW\""),
            Code::unsupported,
            "attribute \"src_layout\" is \"NNHW\", supported are NCHW, NHWC, NCDHW, NDHWC"}),
    [](const auto& test) { return test.param.name; });

// The step is not used: times the stride of the axis, it is no number of 64 bits.
TEST(DnnlProgram, TakesOneElementWithAnyStep) {
  SubgraphCase what;
  what.key = "tensorrt";
  what.json = R"({"nodes": [
    {"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[2, 3]]]}},
    {"op": "kernel", "name": "tensorrt.strided_slice", "inputs": [[0, 0, 0]],
     "attrs": {"dtype": [["float32"]], "shape": [[[1, 2]]], "start": [["1", "1"]],
               "size": [["1", "2"]], "strides": [["9223372036854775807", "1"]]}}],
    "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2]})";
  const float in[] = {1, 2, 3, 4, 5, 6}, out[] = {5, 6};
  what.inputs = {{dtypes::float32, {2, 3}, std::vector<std::uint8_t>(sizeof in)}};
  what.outputs = {{dtypes::float32, {1, 2}, std::vector<std::uint8_t>(sizeof out)}};
  std::memcpy(what.inputs[0].bytes.data(), in, sizeof in);
  SubgraphRunner runner;

  const auto outputs = runner.run(what);

  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(std::memcmp((*outputs)[0].bytes.data(), out, sizeof out), 0);
}

}  // namespace
}  // namespace gantry::dnnl_plugin::test
