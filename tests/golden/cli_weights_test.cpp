// SPDX-License-Identifier: Apache-2.0
//
// --weights of `gantry run` and `gantry bench` with models and directories of weights that TVM
// wrote, and its results.
#include "tests/golden/cli_weights.hpp"

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The inputs of cnn_params_llvm.so, and the arrays of its first call.
const std::vector<std::pair<std::string, std::string>> cnn_params{{"w1", "c0_a1"}, {"b1", "c0_a2"},
                                                                  {"w2", "c0_a3"}, {"b2", "c0_a4"},
                                                                  {"wd", "c0_a5"}, {"bd", "c0_a6"}};

TEST_F(Weights, SetsInputsWithTheNamesOfWeights) {
  const Outcome run = run_vm({mix + ".so", "--function", "main_sep", "--weights",
                              "relax/weights_mix.weights", "--input", "x=" + mix + ".npz:c14_a0",
                              "--expect", expected(mix + ".npz", "c14_r"), "--rtol", "1e-5"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("output  float32[3, 10]  "));
}

TEST_F(Weights, AreReadFromFilesOfNamedArrays) {
  for (const std::string& file : {weights_npz("relax/cnn_params_llvm.npz", cnn_params),
                                  weights_params("relax/cnn_params_llvm.npz", cnn_params)}) {
    // LeakSanitizer of GCC 12 crashes where it reads the storage of threads in this process.
    const Outcome run =
        with_relax("run",
                   {"relax/cnn_params_llvm.so", "--weights", file, "--input",
                    "x=relax/cnn_params_llvm.npz:c0_a0", "--expect",
                    expected("relax/cnn_params_llvm.npz", "c0_r"), "--rtol", "1e-5"},
                   {"LSAN_OPTIONS=detect_leaks=0"});

    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("\nwithin tolerance of "));
  }
}

TEST_F(Weights, OfAFileAreMeasured) {
  const Outcome bench = bench_vm({"relax/cnn_params_llvm.so", "--repeat", "1", "--weights",
                                  weights_npz("relax/cnn_params_llvm.npz", cnn_params)});

  EXPECT_EQ(bench.status, 0) << bench.err;
}

TEST_F(Weights, OfAFileHaveTheTypesOfInputs) {
  const std::string file = weights_npz("relax/cnn_params_llvm.npz", {{"x", "c0_a2"}});

  const Outcome run = run_vm({"relax/cnn_llvm.so", "--weights", file});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: weight \"x\" of \"" + file + "\" is float32["));
  EXPECT_THAT(run.err, HasSubstr("select the file of weights that was made for this model\n"));
}

TEST_F(Weights, OfAFileHaveNames) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  write_file(path("x.npy"), std::string("\x93NUMPY\x01\0v\0", 10) + header + "\nabcd");

  const Outcome run = run_vm({"relax/cnn_params_llvm.so", "--weights", path("x.npy")});

  EXPECT_EQ(run.err, "gantry: \"" + path("x.npy") +
                         "\" has an array without a name, expected named weights; --input "
                         "NAME=FILE.npy passes one array\n  while reading weights of \"" +
                         path("x.npy") + "\"\n");
}

TEST_F(Weights, AreReplacedByInputs) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights",
              "--input", "x=" + mix + ".npz:c32_a0", "--input", "fc1_bias=" + mix + ".npz:c28_a1",
              "--expect", expected(mix + ".npz", "c32_r"), "--rtol", "1e-5"});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(Weights, AreTheSameForEachElement) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights",
              "--each", "--input", renamed(mix + ".npz", "c14_a0", "x", {3, 1, 32}), "--expect",
              expected(mix + ".npz", "c14_r", {3, 1, 10}), "--rtol", "1e-5"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n3 runs, median "));
}

TEST_F(Weights, AreInTheJsonReport) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights",
              "--input", "x=" + mix + ".npz:c14_a0", "--json"});

  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["weights"], "relax/weights_mix.weights");
}

TEST_F(Weights, LeaveOtherInputsToFiles) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights", "relax/weights_mix.weights"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err,
              StartsWith("gantry: input \"x\" of function \"main_sep\" is missing, expected "));
}

TEST_F(Weights, HaveTheTypesOfInputs) {
  const std::string weights = named_weights("x", "y");

  const Outcome run = run_vm({"relax/cnn_llvm.so", "--weights", weights});

  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err, "gantry: weight \"x\" of \"" + weights +
                         "\" is float32[3], expected float32[1, 1, 8, 8] as input \"x\": select "
                         "the directory of weights that was made for this model\n"
                         "  inputs of the model: x float32[1, 1, 8, 8]\n"
                         "  while running \"relax/cnn_llvm.so\"\n");
}

TEST_F(Weights, OfOtherModelsAreRefused) {
  const Outcome run = run_vm({"relax/cnn_llvm.so", "--weights", named_weights("a", "b"), "--input",
                              "x=relax/cnn_llvm.npz:c0_a0"});

  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err,
            "gantry: no input of the model is a tuple or has the name of a weight: \"a\", "
            "\"b\"\n  inputs of the model: x float32[1, 1, 8, 8]\n  while running "
            "\"relax/cnn_llvm.so\"\n");
}

TEST_F(Weights, WithNamesThatAreOneVariableAreRefused) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main_sep", "--weights",
              named_weights("fc1.weight", "fc1-weight"), "--input", "x=" + mix + ".npz:c14_a0"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: input \"fc1_weight\" is any of 2 weights: "
                                  "\"fc1.weight\", \"fc1-weight\"\n"));
}

TEST_F(Weights, OfADamagedDirectoryNameTheShard) {
  const std::string weights = changed_weights({});
  std::filesystem::remove(weights + "/params_shard_0.bin");

  const Outcome run = classify(classifier + ".so", weights);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: " + weights + "/params_shard_0.bin does not exist"));
  EXPECT_THAT(run.err, HasSubstr("\n  while loading \"" + weights + "\"\n"));
}

TEST_F(Weights, WithoutAnIndexFailEarly) {
  EXPECT_EQ(run_vm({"absent.so", "--weights", "relax"}).err,
            "gantry: \"relax\" has no index of weights, expected a directory with "
            "tensor-cache.json or ndarray-cache.json\n");
}

TEST_F(Weights, AreNotOverwritten) {
  write_weights(path("w"), replaced(small_index, "s0.bin", "s0.npz"));
  write_file(path("w/s0.npz"), "123456789012");

  const Outcome run = run_vm({mix + ".so", "--weights", path("w"), "--output", path("w/s0.npz")});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("s0.npz"));
  EXPECT_THAT(run.err, HasSubstr("input"));
  EXPECT_EQ(read_file(path("w/s0.npz")).size(), 12u);
}

TEST_F(Weights, AreMeasured) {
  const Args args{
      classifier + ".so", "--function", "classify", "--input", "ids=" + classifier + ".npz:c4_a0",
      "--repeat",         "3",          "--json"};
  Args with_weights = args;
  with_weights.insert(with_weights.end(), {"--weights", "relax/weights_metadata.weights"});

  const Outcome bench = bench_vm(with_weights);
  const Outcome without = bench_vm(args);

  ASSERT_EQ(bench.status, 0) << bench.err;
  const nlohmann::json report = nlohmann::json::parse(bench.out);
  EXPECT_EQ(report["weights"], "relax/weights_metadata.weights");
  EXPECT_EQ(report["times"]["runs"], 3);
  EXPECT_THAT(bench.out, HasSubstr("\"fused_matmul1_add1\""));
  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.err, StartsWith("gantry: item 0 of input \"packed_params\" of function "));
}

TEST_F(Weights, AreMeasuredWithOtherInputsOfZeros) {
  const Args args{"relax/cnn_params_llvm.so", "--repeat", "1", "--weights",
                  written_weights("relax/cnn_params_llvm.npz", cnn_params)};

  const Outcome bench = bench_vm(args);

  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_THAT(bench.out, HasSubstr("  softmax\n"));
}

TEST_F(Weights, WithoutAnIndexAreNotMeasured) {
  EXPECT_EQ(bench_vm({"absent.so", "--weights", "relax"}).err,
            "gantry: \"relax\" has no index of weights, expected a directory with "
            "tensor-cache.json or ndarray-cache.json\n  while measuring \"absent.so\"\n");
}

TEST_F(Weights, ExcludeArgumentsByPosition) {
  const Outcome run =
      run_vm({mix + ".so", "--function", "main", "--arg", "none", "--weights", "w"});

  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, StartsWith("gantry: --arg excludes --weights\n"));
}

}  // namespace
}  // namespace gantry::test
