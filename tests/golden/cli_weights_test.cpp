// SPDX-License-Identifier: Apache-2.0
//
// `gantry run --weights` with models and directories of weights that TVM wrote, and its results.
#include "tests/golden/cli_command.hpp"
#include "tests/support/array_value.hpp"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

const std::string mix = "relax/weights_mix_llvm";

Outcome run_vm(const Args& args) {
  Args all{"--plugins", built_plugins("relax"), "run"};
  all.insert(all.end(), args.begin(), args.end());
  return run_gantry(all);
}

class RunWeights : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // Writes a member of a golden file as "output", in another shape if it is not empty.
  std::string expected(const std::string& from, const std::string& member,
                       std::vector<std::int64_t> shape = {}) const {
    return renamed(from, member, "output", std::move(shape));
  }
  std::string renamed(const std::string& from, const std::string& member, const std::string& name,
                      std::vector<std::int64_t> shape = {}) const {
    const ArrayValue array = array_in(golden(from), member);
    if (shape.empty()) shape = array.header.shape;
    const NpzItem item{name, array.header.dtype, shape, array.data};
    const std::string file = path(name + ".npz");
    EXPECT_TRUE(write_npz(file, std::span(&item, 1)).ok());
    return file;
  }
  // A directory whose weights have the types of fc1.weight and fc1.bias, and other names.
  std::string named_weights(std::string_view weight, std::string_view bias) const {
    const std::string index =
        replaced(replaced(small_index, R"("name": "a")", concat("\"name\": \"", weight, "\"")),
                 R"("name": "b")", concat("\"name\": \"", bias, "\""));
    write_weights(path("named.weights"), index);
    return path("named.weights");
  }

 private:
  TempDir temp_;
};

// The input "fc1_weight" is the weight "fc1.weight".
TEST_F(RunWeights, SetsInputsWithTheNamesOfWeights) {
  const Outcome run = run_vm({mix + ".so", "--function", "main_sep", "--weights",
                              "relax/weights_mix.weights", "--input", "x=" + mix + ".npz:c14_a0",
                              "--expect", expected(mix + ".npz", "c14_r"), "--rtol", "1e-5"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("output  float32[3, 10]  "));
}

TEST_F(RunWeights, SetsATupleToNumberedWeights) {
  const std::string base = "relax/lm_paged_weights.npz";

  const Outcome run = run_vm({"relax/lm_paged_llvm.so", "--function", "embed", "--weights",
                              "relax/lm_paged.weights", "--input", "ids=" + base + ":c8_a0",
                              "--expect", expected(base, "c8_r")});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nequal to "));
}

// The script replaces fc1.bias in the cache.
TEST_F(RunWeights, AreReplacedByInputs) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights",
              "--input", "x=" + mix + ".npz:c32_a0", "--input", "fc1_bias=" + mix + ".npz:c28_a1",
              "--expect", expected(mix + ".npz", "c32_r"), "--rtol", "1e-5"});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(RunWeights, AreTheSameForEachElement) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights",
              "--each", "--input", renamed(mix + ".npz", "c14_a0", "x", {3, 1, 32}), "--expect",
              expected(mix + ".npz", "c14_r", {3, 1, 10}), "--rtol", "1e-5"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n3 runs, median "));
}

TEST_F(RunWeights, AreInTheJsonReport) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights",
              "--input", "x=" + mix + ".npz:c14_a0", "--json"});

  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["weights"], "relax/weights_mix.weights");
}

TEST_F(RunWeights, LeaveOtherInputsToFiles) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: input \"x\" is not given\n"));
}

TEST_F(RunWeights, WithoutNumbersAreNoTuple) {
  const Outcome run = run_vm(
      {mix + ".so", "--weights", named_weights("b", "a"), "--input", "x=" + mix + ".npz:c14_a0"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err,
              StartsWith("gantry: input \"packed_params\" is a tuple, whose items are weights with "
                         "the names param_0, param_1 and so on; the directory has \"a\", \"b\", "
                         "whose order it does not contain: --script passes them by name\n"
                         "  inputs of function \"main\": x float32[n, 32], packed_params "));
}

TEST_F(RunWeights, OfOtherModelsAreRefused) {
  const Outcome run = run_vm({"relax/cnn_llvm.so", "--weights", named_weights("a", "b"), "--input",
                              "x=relax/cnn_llvm.npz:c0_a0"});

  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err,
            "gantry: no input of function \"main\" is a tuple or has the name of a weight: \"a\", "
            "\"b\"\n  inputs of function \"main\": x float32[1, 1, 8, 8]\n  while running "
            "\"relax/cnn_llvm.so\"\n");
}

TEST_F(RunWeights, WithNamesThatAreOneVariableAreRefused) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights",
              named_weights("fc1.weight", "fc1-weight"), "--input", "x=" + mix + ".npz:c14_a0"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: input \"fc1_weight\" is any of 2 weights: "
                                  "\"fc1.weight\", \"fc1-weight\"\n"));
}

TEST_F(RunWeights, OfADamagedDirectoryNameTheShard) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights",
              "relax/weights_bad_missing_shard.weights", "--input", "x=" + mix + ".npz:c14_a0"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: relax/weights_bad_missing_shard.weights/"
                                  "params_shard_1.bin does not exist"));
  EXPECT_THAT(run.err,
              HasSubstr("\n  while loading \"relax/weights_bad_missing_shard.weights\"\n"));
}

// The directory is read before the model, which is absent.
TEST_F(RunWeights, WithoutAnIndexFailEarly) {
  EXPECT_EQ(run_vm({"absent.so", "--weights", "relax"}).err,
            "gantry: \"relax\" has no index of weights, expected a directory with "
            "tensor-cache.json or ndarray-cache.json\n");
}

TEST_F(RunWeights, AreNotOverwritten) {
  write_weights(path("w"), replaced(small_index, "s0.bin", "s0.npz"));
  write_file(path("w/s0.npz"), "123456789012");

  const Outcome run = run_vm({mix + ".so", "--weights", path("w"), "--output", path("w/s0.npz")});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("s0.npz"));
  EXPECT_THAT(run.err, HasSubstr("input"));
  EXPECT_EQ(read_file(path("w/s0.npz")).size(), 12u);
}

TEST_F(RunWeights, ExcludeArgumentsByPosition) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main", "--arg", "none", "--weights", "w"});

  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, StartsWith("gantry: --arg excludes --weights\n"));
}

}  // namespace
}  // namespace gantry::test
