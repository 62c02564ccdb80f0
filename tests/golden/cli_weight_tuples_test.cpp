// SPDX-License-Identifier: Apache-2.0
//
// --weights with functions that take their weights as one tuple.
#include "tests/golden/cli_weights.hpp"

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using WeightTuples = Weights;

TEST_F(WeightTuples, SetsATupleToNumberedWeights) {
  const std::string base = "relax/lm_paged_weights.npz";

  const Outcome run = run_vm({"relax/lm_paged_llvm.so", "--function", "embed", "--weights",
                              "relax/lm_paged.weights", "--input", "ids=" + base + ":c8_a0",
                              "--expect", expected(base, "c8_r")});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nequal to "));
}

TEST_F(WeightTuples, WithoutNumbersAreNoTuple) {
  const Outcome run = run_vm(
      {mix + ".so", "--weights", named_weights("b", "a"), "--input", "x=" + mix + ".npz:c14_a0"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err,
              StartsWith("gantry: the order of the weights in the tuple \"packed_params\" is "
                         "unknown: the model has no metadata, and the directory has \"a\", \"b\", "
                         "none of them param_0; --script passes them by name\n"
                         "  inputs of function \"main\": x float32[n, 32], packed_params "));
}

TEST_F(WeightTuples, AreATupleInTheOrderOfTheMetadata) {
  const Outcome run = classify(
      classifier + ".so", "relax/weights_metadata.weights",
      {"--expect", expected(classifier + ".npz", "c4_r"), "--rtol", "1e-5", "--atol", "1e-6"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("output  float32[5, 10]  "));
}

TEST_F(WeightTuples, AreATupleForEachElement) {
  const Outcome run = run_vm(
      {classifier + ".so", "--function", "classify", "--weights", "relax/weights_metadata.weights",
       "--each", "--input", renamed(classifier + ".npz", "c4_a0", "ids", {5, 1}), "--expect",
       expected(classifier + ".npz", "c4_r", {5, 1, 10}), "--rtol", "1e-5", "--atol", "1e-6"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n5 runs, median "));
}

TEST_F(WeightTuples, AreThoseOfTheMetadata) {
  const std::string weights = changed_weights({{"\"head.bias\"", "\"head.b\""}});

  const Outcome run = classify(classifier + ".so", weights);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith(concat("gantry: \"", weights,
                                         "\" lacks 1 of the 7 weights in the model's metadata: "
                                         "\"head.bias\"; it has \"blocks.0.gate.weight\", ")));
  EXPECT_THAT(run.err, HasSubstr(": select the directory of weights that was made for this model\n"
                                 "  inputs of function \"classify\": ids int32[n], "));
}

TEST_F(WeightTuples, HaveTheTypesOfTheMetadata) {
  const std::string weights = changed_weights({{"\"head.bias\"", "\"0\""},
                                               {"\"tokens.weight\"", "\"head.bias\""},
                                               {"\"0\"", "\"tokens.weight\""}});

  const Outcome run = classify(classifier + ".so", weights);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err,
              StartsWith(concat("gantry: weight \"tokens.weight\" of \"", weights,
                                "\" is float32[10], expected float32[token_count, 16] in the "
                                "model's metadata: ")));
}

TEST_F(WeightTuples, AreNumberedIfTheMetadataListNone) {
  const std::string model = patched(classifier + ".so", "\"params\"", "\"others\"");
  const std::string numbered = changed_weights({{"tokens.weight", "param_0"},
                                                {"blocks.0.gate.weight", "param_1"},
                                                {"blocks.0.up.weight", "param_2"},
                                                {"blocks.1.gate.weight", "param_3"},
                                                {"blocks.1.up.weight", "param_4"},
                                                {"head.weight", "param_5"},
                                                {"head.bias", "param_6"}});

  const Outcome run = classify(
      model, numbered,
      {"--expect", expected(classifier + ".npz", "c4_r"), "--rtol", "1e-5", "--atol", "1e-6"});
  const Outcome named = classify(model, "relax/weights_metadata.weights");

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(named.status, 1);
  EXPECT_THAT(named.err,
              StartsWith("gantry: the order of the weights in the tuple \"packed_params\" is "
                         "unknown: the model's metadata list none, and the directory has "));
}

TEST_F(WeightTuples, RequireMetadataThatAreJson) {
  const std::string model = patched(classifier + ".so", "{\"model_type\"", "[\"model_type\"");

  const Outcome run = classify(model, "relax/weights_metadata.weights");

  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err,
            "gantry: model metadata is not JSON: \":\" follows \"[\\\"model_type\\\"\" "
            "(offset 0xe)\n  while running \"" +
                model + "\"\n");
}

TEST_F(WeightTuples, IgnoreAFunctionWithParametersForMetadata) {
  const std::string model = patched("relax/tuples_llvm.so", "const_ret", "_metadata");

  const Outcome run = run_vm({model, "--function", "swap", "--weights", named_weights("a", "b")});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr(" is unknown: the model has no metadata, and the directory has "));
}

TEST_F(WeightTuples, AreOfTheOnlyFunctionWhoseNameBeginsWithALetter) {
  const std::string model = patched(classifier + ".so", "embed", "_mbed");

  const Outcome run = run_vm({model, "--weights", "relax/weights_metadata.weights", "--input",
                              "ids=" + classifier + ".npz:c4_a0"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("output  float32[5, 10]  "));
}

TEST_F(WeightTuples, AreNoInputOfTheFunctionThatReturnsTheMetadata) {
  const Outcome run = run_vm({classifier + ".so", "--function", "_metadata", "--weights",
                              "relax/weights_metadata.weights"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: no input of function \"_metadata\" is a tuple or has "
                                  "the name of a weight: "));
}

}  // namespace
}  // namespace gantry::test
