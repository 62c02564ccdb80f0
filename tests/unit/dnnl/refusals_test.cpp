// SPDX-License-Identifier: Apache-2.0
//
// Sub-graphs that the plugin refuses, each a valid one with one change.
#include "tests/unit/dnnl/bad_operator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>

namespace gantry::dnnl_plugin::test {
namespace {

using ::testing::HasSubstr;

// Adds a tensor of one row to three.
SubgraphCase sum_of_one_row() {
  SubgraphCase what = changed("dnnl_json", "dense_bias_sum", "3,\n       5", "1,\n       5");
  what.constants[2].shape = {1, 5};
  what.constants[2].bytes.resize(20);
  return what;
}

// The end of the last window is no number of 64 bits.
SubgraphCase many_windows() {
  SubgraphCase what = changed("tensorrt", "max_pool2d_ceil", "3,\n       4,\n       4",
                              "3,\n       140737488355328,\n       4");
  const std::string_view before = "\"strides\": [\n     [\n      \"";
  what.json.replace(what.json.find(before) + before.size(), 1, "2147483647");
  return what;
}

class DnnlRefuses : public ::testing::TestWithParam<BadOperator> {};

TEST_P(DnnlRefuses, WithTheOperatorAndTheAttribute) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    OneChange, DnnlRefuses,
    ::testing::Values(
        BadOperator{"UnknownOperator", changed("tensorrt", "exp", "tensorrt.exp", "tensorrt.acos"),
                    Code::unsupported,
                    "operator \"tensorrt.acos\" of \"tensorrt\" is not supported, supported are "},
        BadOperator{"UnknownFusion",
                    changed("dnnl_json", "conv2d_relu", "conv2d_relu", "conv2d_elu"),
                    Code::unsupported,
                    "operator \"dnnl.conv2d_elu\" of \"dnnl_json\" is not supported, supported are "
                    "nn.conv2d conv2d nn.conv1d"},
        BadOperator{"StrideOfZero",
                    changed("dnnl_json", "conv2d_nhwc", attribute("strides", "\"1\",\n      \"1\""),
                            attribute("strides", "\"1\",\n      \"0\"")),
                    Code::malformed, "attribute \"strides\" has 0, range is 1 to 2147483647"},
        BadOperator{"StrideCount",
                    changed("dnnl_json", "conv2d_nhwc", attribute("strides", "\"1\",\n      \"1\""),
                            attribute("strides", "\"1\"")),
                    Code::malformed, "attribute \"strides\" has 1 numbers, expected 2"},
        BadOperator{
            "DilationOfZero",
            changed("dnnl_json", "conv2d_nhwc", attribute("dilation", "\"2\",\n      \"1\""),
                    attribute("dilation", "\"2\",\n      \"0\"")),
            Code::malformed, "attribute \"dilation\" has 0, range is 1 to 2147483647"},
        BadOperator{"NegativePadding",
                    changed("dnnl_json", "conv2d_groups", "\"padding\": [\n     [\n      \"1\"",
                            "\"padding\": [\n     [\n      \"-1\""),
                    Code::malformed, "attribute \"padding\" has -1, range is 0 to 2147483647"},
        BadOperator{"PaddingCount",
                    changed("dnnl_json", "conv2d_groups", "\"padding\": [\n     [\n      \"1\",",
                            "\"padding\": [\n     [\n"),
                    Code::malformed, "attribute \"padding\" has 3 numbers, expected 1, 2 or 4"},
        BadOperator{"OtherPadding",
                    changed("dnnl_json", "conv2d_groups", "\"padding\": [\n     [\n      \"1\"",
                            "\"padding\": [\n     [\n      \"3\""),
                    Code::malformed,
                    "operator \"nn.conv2d\" of float32[1, 4, 7, 6], float32[6, 2, 3, 2] to "
                    "float32[1, 6, 6, 6]: shapes and attributes do not fit together"},
        BadOperator{"GroupsOfZero",
                    changed("dnnl_json", "conv2d_groups", attribute("groups", "\"2\""),
                            attribute("groups", "\"0\"")),
                    Code::malformed, "attribute \"groups\" is 0, minimum is 1"},
        BadOperator{"GroupsThatDivideNothing",
                    changed("dnnl_json", "conv2d_groups", attribute("groups", "\"2\""),
                            attribute("groups", "\"4\"")),
                    Code::malformed,
                    "attribute \"groups\" is 4, output channels of the weights are 6"},
        BadOperator{"GroupsOfMoreThanTheChannels",
                    changed("dnnl_json", "conv2d_blocked", attribute("groups", "\"1\""),
                            attribute("groups", "\"8\"")),
                    Code::malformed,
                    "attribute \"groups\" is 8, data have 16 channels, the output has 6"},
        BadOperator{"UnknownLayout",
                    changed("dnnl_json", "conv2d_groups", attribute("data_layout", "\"NCHW\""),
                            attribute("data_layout", "\"NCHWX\"")),
                    Code::unsupported,
                    "operator \"nn.conv2d\": attribute \"data_layout\" is \"NCHWX\", supported are "
                    "NCHW in any order with blocks"},
        BadOperator{
            "LayoutOfAnotherOperator",
            changed("dnnl_json", "conv1d", attribute("data_layout", "\"NCW\""),
                    attribute("data_layout", "\"NCDHW\"")),
            Code::unsupported,
            "attribute \"data_layout\" is \"NCDHW\", supported are the dimensions NCW in any "
            "order, and blocks of them at the end"},
        BadOperator{"LayoutWithABlockInside",
                    changed("dnnl_json", "conv2d_blocked", "\"NCHW8c\"", "\"NC8cHW\""),
                    Code::unsupported, "attribute \"data_layout\" is \"NC8cHW\""},
        BadOperator{"LayoutOfAnotherBlock",
                    changed("dnnl_json", "conv2d_blocked", "\"NCHW8c\"", "\"NCHW4c\""),
                    Code::malformed,
                    "a tensor of shape [1, 2, 4, 4, 8] has a block of 8, its layout has 4"},
        BadOperator{"LayoutOfAnotherRank",
                    changed("dnnl_json", "conv2d_groups", attribute("data_layout", "\"NCHW\""),
                            attribute("data_layout", "\"NCHW4c\"")),
                    Code::malformed,
                    "a tensor of shape [1, 4, 7, 6] has the layout NCHW with 1 blocks, which has 5 "
                    "dimensions"},
        BadOperator{"MissingAttribute",
                    changed("dnnl_json", "conv2d_groups", "\"data_layout\"", "\"units\""),
                    Code::malformed, "attribute \"data_layout\" is absent"},
        BadOperator{"MissingBias",
                    changed("dnnl_json", "dense", "\"nn.dense\"", "\"dnnl.dense_bias\""),
                    Code::malformed,
                    "operator \"dnnl.dense_bias\" has 2 inputs, expected \"data weight [bias] "
                    "[sum]\""},
        BadOperator{
            "BiasOfAnotherSize",
            changed("dnnl_json", "dense_bias_sum", "dnnl.dense_bias_sum", "dnnl.dense_sum_bias"),
            Code::malformed, "bias has shape [3, 5], expected 5 numbers"},
        BadOperator{"DenseOfOtherInputs", changed("dnnl_json", "dense_of_inputs", "7\n", "8\n"),
                    Code::malformed, "shapes and attributes do not fit together"},
        BadOperator{"PackedWeightsOfAnotherLayout",
                    changed("dnnl_json", "dense_pack", "\"NC4n\"", "\"NK4n\""), Code::unsupported,
                    "attribute \"weight_layout\" is \"NK4n\", supported are NC in any order with "
                    "blocks"},
        BadOperator{"DenseOfAnotherRank", changed("dnnl_json", "dense", "3,\n       5", "15"),
                    Code::malformed,
                    "data of shape [3, 7] give [15], expected two or more dimensions"},
        BadOperator{"DenseToMoreRows",
                    changed("dnnl_json", "dense", "3,\n       5", "4,\n       5"), Code::malformed,
                    "has a tensor of shape [3, 5], expected the number of elements of [4, 5]"},
        BadOperator{"DenseSumOfFewerRows", sum_of_one_row(), Code::malformed,
                    "has a tensor of shape [1, 5], expected the number of elements of [3, 5]"},
        BadOperator{"AxisOutOfRange",
                    changed("dnnl_json", "softmax", attribute("axis", "\"-1\""),
                            attribute("axis", "\"3\"")),
                    Code::malformed, "attribute \"axis\" is 3, range is -3 to 2"},
        BadOperator{"AxisOfLayerNorm",
                    changed("dnnl_json", "layer_norm", attribute("axis", "\"-1\""),
                            attribute("axis", "\"1\"")),
                    Code::unsupported, "attribute \"axis\" is 1 of 3, supported is the last axis"},
        BadOperator{"AxisOfBatchNorm",
                    changed("dnnl_json", "batch_norm", attribute("axis", "\"1\""),
                            attribute("axis", "\"0\"")),
                    Code::unsupported,
                    "operator \"nn.batch_norm\": attribute \"axis\" is \"0\", supported are 1"},
        BadOperator{"ChannelsOfBatchNorm",
                    changed("tensorrt", "batch_norm", attribute("axis", "\"1\""),
                            attribute("axis", "\"3\"")),
                    Code::malformed, "input 1 has shape [3], expected 5 numbers of float32"},
        BadOperator{"AxisOfInstanceNorm",
                    changed("bnns_json", "instance_norm", attribute("axis", "\"1\""),
                            attribute("axis", "\"2\"")),
                    Code::unsupported, "attribute \"axis\" is \"2\", supported are 1"},
        BadOperator{
            "PoolSizeOfZero",
            changed("dnnl_json", "max_pool2d_dilated", "\"pool_size\": [\n     [\n      \"3\"",
                    "\"pool_size\": [\n     [\n      \"0\""),
            Code::malformed, "attribute \"pool_size\" has 0, range is 1 to 2147483647"},
        BadOperator{"FlagOfTwo",
                    changed("tensorrt", "max_pool2d", attribute("ceil_mode", "\"0\""),
                            attribute("ceil_mode", "\"2\"")),
                    Code::malformed, "attribute \"ceil_mode\" is 2, expected 0 or 1"},
        BadOperator{"GlobalPoolingToMore",
                    changed("dnnl_json", "global_avg_pool2d", "3,\n       1,\n       1",
                            "3,\n       1,\n       2"),
                    Code::unsupported,
                    "has the output [1, 3, 1, 2], supported are outputs with spatial extents of 1"},
        BadOperator{"CeilingOfMoreWindows",
                    changed("tensorrt", "max_pool2d_ceil", "3,\n       4,\n       4",
                            "3,\n       9,\n       4"),
                    Code::malformed,
                    "shape [1, 3, 7, 6] gives [1, 3, 9, 4], which has windows of axis 2 behind the "
                    "padding"},
        BadOperator{"CeilingOfMoreWindowsThanANumberHas", many_windows(), Code::malformed,
                    "gives [1, 3, 140737488355328, 4], which has windows of axis 2 behind the "
                    "padding"},
        BadOperator{
            "BiasOfAnotherAxis",
            changed("tensorrt", "bias_add", attribute("axis", "\"1\""), attribute("axis", "\"2\"")),
            Code::malformed, "bias has shape [3], expected [5]"},
        BadOperator{
            "MatrixOfFewerBatches",
            changed("cublas_json", "matmul_batches", "2,\n       2,\n       5,\n       4",
                    "4,\n       5,\n       4"),
            Code::unsupported,
            "inputs of shapes [2, 2, 3, 4] and [4, 4, 5] give [2, 2, 3, 5], supported are "},
        BadOperator{"QuantizedActivation", changed("dnnl_json", "qnn_dense", "\"clip\"", "\"elu\""),
                    Code::unsupported,
                    "attribute \"activation\" is \"elu\", supported are relu tanh sigmoid gelu "
                    "swish mish clip"},
        BadOperator{
            "QuantizedActivationInput",
            changed("dnnl_json", "qnn_dense", "\"clip\",\n      \"3\"", "\"clip\",\n      \"x\""),
            Code::malformed, "attribute \"activation\" has \"x\", expected an input index"},
        BadOperator{
            "QuantizedActivationWithoutName",
            changed("dnnl_json", "qnn_dense",
                    attribute("activation", "\"clip\",\n      \"3\",\n      \"4\",\n      \"5\""),
                    "\"activation\": [[]]"),
            Code::malformed, "attribute \"activation\" has 0 values, expected 4"},
        BadOperator{"QuantizedSumWithoutTensor",
                    changed("dnnl_json", "qnn_conv2d", attribute("sum_idx", "\"3\""),
                            attribute("sum_idx", "\"-1\"")),
                    Code::malformed,
                    "attribute \"sum_scl_idx\" names an input, expected both of \"sum_idx\" and "
                    "\"sum_scl_idx\", or none"},
        BadOperator{"QuantizedSumWithoutScale",
                    changed("dnnl_json", "qnn_conv2d", attribute("sum_scl_idx", "\"8\""),
                            attribute("sum_scl_idx", "\"-1\"")),
                    Code::malformed,
                    "attribute \"sum_idx\" names an input, expected both of \"sum_idx\" and "
                    "\"sum_scl_idx\", or none"},
        BadOperator{"QuantizedInputOutOfRange",
                    changed("dnnl_json", "qnn_dense", attribute("o_scl_idx", "\"2\""),
                            attribute("o_scl_idx", "\"70\"")),
                    Code::malformed, "has 7 inputs, expected \"data weight named...\""},
        BadOperator{"ScaleThatIsNoConstant",
                    changed("dnnl_json", "qnn_dense", attribute("o_scl_idx", "\"2\""),
                            attribute("o_scl_idx", "\"0\"")),
                    Code::unsupported,
                    "attribute \"o_scl_idx\" is no constant of float32, supported are constants"}),
    [](const auto& test) { return test.param.name; });

// An output that is an input, of a type or shape that no operator has.
TEST(DnnlPlugin, RefusesATensorWithoutOperatorThatNoOperatorCouldRead) {
  const auto refusal_of = [](std::string_view type, std::string_view shape) {
    SubgraphCase what;
    what.key = "dnnl_json";
    what.json = concat(R"({"nodes": [{"op": "input", "name": "x", "attrs": {"dtype": [[")", type,
                       R"("]], "shape": [[)", shape, R"(]]}}], "arg_nodes": [0], )",
                       R"("heads": [[0, 0, 0]], "node_row_ptr": [0, 1]})");
    SubgraphRunner runner;
    const auto outputs = runner.run(what);
    EXPECT_FALSE(outputs.ok());
    return outputs.ok() ? Error{} : outputs.error();
  };

  const Error type = refusal_of("float64", "[2, 3]");
  EXPECT_EQ(type.code, Code::unsupported);
  EXPECT_THAT(type.message.text(),
              HasSubstr("tensor has dtype float64, supported are float32, float16, bfloat16, "
                        "float8_e4m3fn, int32, int8, uint8 and bool"));
  const Error rank = refusal_of("float32", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]");
  EXPECT_EQ(rank.code, Code::unsupported);
  EXPECT_THAT(rank.message.text(), HasSubstr("has 13 dimensions, maximum is 12"));
}

// A hostile number may not crash oneDNN. Every seventh number of every third case.
TEST(DnnlPlugin, AnswersWhateverNumbersAGraphHas) {
  int count = 0;
  const std::vector<SubgraphCase>& cases = subgraph_cases();
  for (std::size_t c = 0; c < cases.size(); c += 3) {
    SubgraphRunner runner;
    const std::string& json = cases[c].json;
    int number = 0;
    for (std::size_t at = 0; at < json.size(); ++at) {
      const bool begins = std::isdigit(static_cast<unsigned char>(json[at])) != 0 && at != 0 &&
                          (json[at - 1] == ' ' || json[at - 1] == '"');
      if (!begins || number++ % 7 != 0) continue;
      const std::size_t end = json.find_first_not_of("0123456789", at);
      for (const char* to : {"0", "3", "-1", "65536", "2147483647", "4611686018427387904"}) {
        SubgraphCase what = cases[c];
        what.json = json.substr(0, at) + to + json.substr(end);
        const auto module = runner.load(what);
        if (!module.ok()) continue;
        if (!runner.initialize(**module, what).ok()) continue;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace gantry::dnnl_plugin::test
