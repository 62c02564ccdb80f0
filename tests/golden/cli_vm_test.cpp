// SPDX-License-Identifier: Apache-2.0
//
// Runs and measures functions of Relax executables with the built program, and compares the results
// with TVM's.
#include "tests/golden/cli_command.hpp"
#include "tests/golden/console_examples.hpp"
#include "tests/support/array_value.hpp"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <map>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

Outcome gantry(Args args) {
  args.insert(args.begin(), {"--plugins", built_plugins("relax")});
  return run_gantry(args);
}

class RunVm : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // Writes members of a golden file under other names: {"c0_r", "output"}.
  std::string renamed(std::string_view name, const std::string& from,
                      const std::vector<std::pair<std::string, std::string>>& members) const {
    std::vector<ArrayValue> arrays;
    for (const auto& [member, as] : members) arrays.push_back(array_in(golden(from), member));
    std::vector<NpzItem> items;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const ArrayHeader& header = arrays[i].header;
      items.push_back({members[i].second, header.dtype, header.shape, arrays[i].data});
    }
    EXPECT_TRUE(write_npz(path(name), items).ok());
    return path(name);
  }

 private:
  TempDir temp_;
};

// Without --function, the function "main" runs.
TEST_F(RunVm, MatchesTvmForEachCompiler) {
  for (const std::string name :
       {"cnn_llvm", "cnn_c", "cnn_fused_llvm", "cnn_compiled_llvm", "v25_cnn_llvm",
        "v25_cnn_compiled_llvm", "v26_cnn_llvm", "v26_cnn_compiled_llvm"}) {
    const std::string base = "relax/" + name;
    const std::string expected = renamed("expected.npz", base + ".npz", {{"c0_r", "output"}});

    const Outcome run =
        gantry({"run", base + ".so", "--input", "x=" + base + ".npz:c0_a0", "--expect", expected});

    EXPECT_EQ(run.status, 0) << name << run.err;
    EXPECT_THAT(run.out, HasSubstr("\nequal to " + expected + "\n"));
    EXPECT_THAT(run.out, StartsWith("output  float32[1, 10]  "));
  }
}

TEST_F(RunVm, AcceptsAnyBatchOfASymbolicExtent) {
  const std::string digits = renamed("digits.npz", "relax/cnn_digits_test.npz", {{"x", "x"}});

  const Outcome run =
      gantry({"run", "relax/cnn_dyn_llvm.so", "--input", digits, "--expect",
              renamed("y.npz", "relax/cnn_digits_test.npz", {{"expected", "output"}}), "--rtol",
              "1e-5", "--atol", "1e-6"});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(RunVm, RunsEachElementOfAFirstAxis) {
  const ArrayValue images = array_in(golden("relax/cnn_digits_test.npz"), "x");
  const ArrayValue expected = array_in(golden("relax/cnn_digits_test.npz"), "expected");
  const std::vector<std::int64_t> in{9, 8, 1, 8, 8}, out{9, 8, 10};
  const NpzItem x{"x", dtypes::float32, in, images.data};
  const NpzItem y{"output", dtypes::float32, out, expected.data};
  ASSERT_TRUE(write_npz(path("x.npz"), std::span(&x, 1)).ok());
  ASSERT_TRUE(write_npz(path("y.npz"), std::span(&y, 1)).ok());

  const Outcome run = gantry({"run", "relax/cnn_dyn_llvm.so", "--each", "--input", path("x.npz"),
                              "--expect", path("y.npz"), "--rtol", "1e-5", "--atol", "1e-6"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n9 runs, median "));
}

// The items of nested tuples are outputs, named by position.
TEST_F(RunVm, NamesTheItemsOfTuples) {
  const std::string base = "relax/tuples_llvm";
  const std::string expected =
      renamed("expected.npz", base + ".npz",
              {{"c2_r_0", "output0"}, {"c2_r_1", "output1"}, {"c2_r_2", "output2"}});

  const Outcome run =
      gantry({"run", base + ".so", "--function", "split3", "--input", "x=" + base + ".npz:c2_a0",
              "--expect", expected, "--output", path("found.npz")});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(floats_in(path("found.npz"), "output1"), floats_in(expected, "output1"));
  EXPECT_EQ(run.out.find("output0  float32[2, 2]  "), 0u);
}

// Half precision, bfloat16, integers, booleans and double precision: files contain each as NumPy
// can, and are compared as what they are.
TEST_F(RunVm, StoresEachTypeAsNumpyDoes) {
  const std::string base = "relax/dtypes_llvm";
  std::vector<std::pair<std::string, std::string>> members;
  for (int i = 0; i < 6; ++i) members.push_back({concat("c4_r_", i), concat("output", i)});
  const std::string expected = renamed("expected.npz", base + ".npz", members);
  const Args args{"run", base + ".so", "--function", "cast", "--input", "x=" + base + ".npz:c4_a0"};

  Args compared = args, written = args, again = args;
  compared.insert(compared.end(), {"--expect", expected});
  written.insert(written.end(), {"--output", path("y.npz")});
  again.insert(again.end(), {"--expect", path("y.npz")});

  for (const Args& each : {compared, written, again}) {
    const Outcome run = gantry(each);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("\noutput1  bfloat16[6]  "));
    EXPECT_THAT(run.out, HasSubstr("\noutput4  bool8[6]  "));
  }
}

TEST_F(RunVm, AcceptsBfloat16AsIntegers) {
  const std::string base = "relax/dtypes_llvm";

  const Outcome run =
      gantry({"run", base + ".so", "--function", "bf16", "--input", "x=" + base + ".npz:c1_a0",
              "--expect", renamed("y.npz", base + ".npz", {{"c1_r", "output"}})});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(RunVm, AcceptsBooleansOfNumpy) {
  const std::string base = "relax/control_flow_llvm";
  const std::string expected = renamed("expected.npz", base + ".npz", {{"c0_r", "output"}});

  const Outcome run =
      gantry({"run", base + ".so", "--function", "branch", "--input", "c=" + base + ".npz:c0_a0",
              "--input", "x=" + base + ".npz:c0_a1", "--expect", expected});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(RunVm, TakesArgumentsByPosition) {
  const Outcome numbers = gantry({"run", "relax/prims_llvm.so", "--function", "prims", "--arg",
                                  "int:3", "--arg", "float:0.5", "--arg", "int:1"});
  const Outcome tensors =
      gantry({"run", "relax/tuples_llvm.so", "--function", "dup", "--arg", "zeros:float32[2]"});

  EXPECT_EQ(numbers.status, 0) << numbers.err;
  EXPECT_THAT(numbers.out,
              StartsWith("result0  int64[]  3\nresult1  float64[]  0.5\nresult2  int64[]  1\n"));
  EXPECT_EQ(tensors.status, 0) << tensors.err;
  EXPECT_THAT(tensors.out, HasSubstr("arg0  float32[2]  0 0\n"));
}

TEST_F(RunVm, NamesInputsAlsoByPosition) {
  const std::string base = "relax/control_flow_llvm";

  const Outcome run = gantry({"run", base + ".so", "--function", "branch", "--input",
                              "0=" + base + ".npz:c0_a0", "--input", "1=" + base + ".npz:c0_a1"});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(RunVm, PrintsValuesThatNoFileContains) {
  const Outcome run =
      gantry({"run", "relax/strings_extern_llvm.so", "--function", "none_ret", "--arg", "none"});
  const Outcome cache = gantry({"run", "relax/closure_llvm.so", "--function", "get", "--input",
                                "x=relax/closure_llvm.npz:c0_a0", "--json"});

  EXPECT_NE(run.status, 0);
  ASSERT_EQ(cache.status, 0) << cache.err;
  const json report = json::parse(cache.out);
  EXPECT_EQ(report["function"], "get");
  EXPECT_THAT(report["outputs"], IsEmpty());
  EXPECT_EQ(report["texts"], json({{{"name", "output"}, {"text", "an object"}}}));
}

TEST_F(RunVm, TakesShapesByPosition) {
  Args args{"run", "relax/lm_paged_llvm.so", "--function", "create_tir_paged_kv_cache"};
  for (const char* const shape : {"[2]", "[64]", "[16]", "[4]", "[0]"})
    args.insert(args.end(), {"--arg", concat("shape:", shape)});

  const Outcome cache = gantry(args);

  EXPECT_EQ(cache.status, 0) << cache.err;
  EXPECT_THAT(cache.out, StartsWith("result  an object\n1 run, "));
}

TEST_F(RunVm, CallsKernelsOfTheLibrary) {
  const Outcome run = gantry({"run", "relax/cnn_llvm.so", "--function", "relu", "--arg",
                              "zeros:float32[1, 8, 8, 8]", "--arg", "zeros:float32[1, 8, 8, 8]"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("arg1  float32[1, 8, 8, 8]  0 0 0 0 0 0 0 0 ...\n"));
}

TEST_F(RunVm, TracesFunctionsAndKernels) {
  const Outcome run = gantry({"run", "relax/cnn_llvm.so", "--input", "x=relax/cnn_llvm.npz:c0_a0",
                              "--trace", path("trace.json")});

  ASSERT_EQ(run.status, 0) << run.err;
  const auto bytes = read_file(path("trace.json"));
  const json trace = json::parse(bytes.begin(), bytes.end());
  std::map<std::string, int> spans;
  for (const json& event : trace["traceEvents"]) ++spans[event["name"].get<std::string>()];
  EXPECT_EQ(spans["main"], 1);
  EXPECT_EQ(spans["conv2d"], 1);
  EXPECT_EQ(spans["softmax"], 1);
}

TEST(BenchVm, MeasuresAFunctionAndWhatItCalls) {
  const Outcome bench = gantry({"bench", "relax/cnn_llvm.so", "--repeat", "5", "--json"});

  ASSERT_EQ(bench.status, 0) << bench.err;
  const json report = json::parse(bench.out);
  EXPECT_EQ(report["times"]["runs"], 5);
  EXPECT_EQ(report["function"], nullptr);
  std::map<std::string, double> operators;
  for (const json& each : report["operators"]) operators[each["name"]] = each["mean_ns"];
  EXPECT_EQ(operators.size(), 12u);
  for (const char* const name : {"conv2d", "softmax"}) EXPECT_GT(operators[name], 0) << name;
  // What the kernels leave of the median, which is nothing on a busy machine.
  EXPECT_TRUE(operators.contains("main"));
}

TEST(BenchVm, MeasuresTheFunctionOfItsName) {
  const Outcome bench = gantry({"bench", "relax/control_flow_llvm.so", "--function", "branch",
                                "--repeat", "5", "--input", "c=relax/control_flow_llvm.npz:c0_a0",
                                "--input", "x=relax/control_flow_llvm.npz:c0_a1"});

  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_THAT(bench.out, HasSubstr("  branch\n"));
}

TEST(BenchVm, RequiresInputsOfSymbolicTypes) {
  const Outcome bench = gantry({"bench", "relax/cnn_dyn_llvm.so"});
  const Outcome unknown = gantry({"bench", "relax/cnn_params_llvm.so"});

  EXPECT_EQ(bench.status, 1);
  EXPECT_THAT(
      bench.err,
      StartsWith("gantry: input \"x\" of the model is float32[n, 1, 8, 8], extent 0 (n) is "
                 "not known\n  for example --input x=x.npy or --input x=random --shape n=1\n"
                 "  inputs of the model: x float32[n, 1, 8, 8]\n"));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(
      unknown.err,
      StartsWith("gantry: input \"w1\" of the model is of unknown type, found zeros; --shape "
                 "must state its shape and the type of its elements\n"));
}

TEST(BenchVm, RefusesAFunctionOfALibraryOrAGraph) {
  const Outcome library = gantry({"bench", "relax/tir_ret_llvm.so", "--function", "addi"});

  EXPECT_EQ(library.status, 1);
  EXPECT_THAT(library.err, StartsWith("gantry: the file has no model, so that its function "
                                      "\"addi\" has no inputs by name;"));
}

TEST(RelaxPage, ShowsWhatTheCommandsPrint) {
  EXPECT_EQ(run_examples("plugins/relax/README.md"), 7);
}

TEST(RelayPage, ShowsWhatTheCommandsPrint) {
  EXPECT_EQ(run_examples("plugins/relay_vm/README.md"), 2);
}

TEST(RelayAtTheCommandLine, RunsMeasuresAndTraces) {
  const std::string file = "tvm-0.12/digits_mlp_vm_llvm.so";
  const TempDir temp;
  const std::string trace = (temp / "trace.json").string();
  const auto relay = [](Args args) {
    args.insert(args.begin(), {"--plugins", built_plugins("relay_vm")});
    return run_gantry(args);
  };

  const Outcome run = relay({"run", file, "--function", "main", "--each", "--input",
                             "tvm-0.12/digits_mlp.input.npz", "--expect",
                             "tvm-0.12/digits_mlp_llvm.expected.npz", "--trace", trace});
  const Outcome bench = relay({"bench", file, "--repeat", "5", "--json"});
  const Outcome unknown = relay({"run", file, "--function", "mian"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nequal to "));
  const std::vector<std::uint8_t> traced = read_file(trace);
  EXPECT_THAT(std::string(traced.begin(), traced.end()), HasSubstr("vm_mod_fused_nn_softmax"));
  ASSERT_EQ(bench.status, 1);
  EXPECT_THAT(bench.err, StartsWith("gantry: input \"x\" of the model is of unknown type, "));
  const std::vector<std::uint8_t> zeros(64 * sizeof(float));
  const std::string input = (temp / "x.npz").string();
  const std::int64_t shape[] = {1, 64};
  const NpzItem item{"x", dtypes::float32, shape, zeros};
  ASSERT_TRUE(write_npz(input, {&item, 1}).ok());
  const Outcome measured = relay({"bench", file, "--repeat", "5", "--json", "--input", input});
  ASSERT_EQ(measured.status, 0) << measured.err;
  std::map<std::string, double> operators;
  const json report = json::parse(measured.out);
  for (const json& each : report["operators"]) operators[each["name"]] = each["mean_ns"];
  EXPECT_EQ(operators.size(), 5u);
  EXPECT_TRUE(operators.contains("main"));
  EXPECT_GT(operators["vm_mod_fused_nn_softmax"], 0);
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"main\""));
}

TEST(RelayAtTheCommandLine, RunsAnArtifactWithAlignedConstants) {
  const TempDir temp;
  const std::string aligned = (temp / "aligned.so").string();
  const auto relay = [](Args args) {
    args.insert(args.begin(), {"--plugins", built_plugins("relay_vm")});
    return run_gantry(args);
  };
  const Outcome repacked =
      relay({"repack", "tvm-0.12/digits_mlp_vm_llvm.so", "--align", "-o", aligned});

  const Outcome run = relay({"run", aligned, "--each", "--input", "tvm-0.12/digits_mlp.input.npz",
                             "--expect", "tvm-0.12/digits_mlp_llvm.expected.npz"});
  const Outcome inspect = relay({"inspect", aligned});

  ASSERT_EQ(repacked.status, 0) << repacked.err;
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(inspect.out, HasSubstr("\n  constants  14, with 14 arrays of 25.7 KiB\n"));
}

struct Refusal {
  std::string name;
  Args args;
  std::string error;
};

class RefuseVm : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefuseVm, ListsWhatThereIs) {
  Args args{"run"};
  args.insert(args.end(), GetParam().args.begin(), GetParam().args.end());

  const Outcome run = gantry(args);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, StartsWith("gantry: " + GetParam().error));
}

const std::string lm = "relax/lm_paged_compiled_llvm.so";

INSTANTIATE_TEST_SUITE_P(
    Golden, RefuseVm,
    ::testing::Values(
        Refusal{"SeveralFunctions",
                {"relax/control_flow_llvm.so"},
                "the model has 6 functions and no default; one must be named\n"
                "  branch(c, x)\n"
                "  is_even(n)\n"
                "  is_odd(n)\n"
                "  loop(i, n, acc, a)\n"
                "  nested(c, d, x)\n"
                "  power(n, x)\n"
                "  --function NAME selects one\n"},
        Refusal{"UnknownFunction",
                {lm, "--function", "prefil"},
                "function \"prefil\" of the model not found, did you mean \"prefill\"\n"
                "  batch_decode(x, kv, packed_params)\n"
                "  batch_prefill(x, pos, kv, packed_params)\n"},
        Refusal{"UnknownFunctionWithInputs",
                {lm, "--function", "prefil", "--input", "x=relax/cnn_llvm.npz:c0_a0"},
                "function \"prefil\" of the model not found, did you mean \"prefill\"\n"
                "  batch_decode(x, kv, packed_params)\n"},
        Refusal{"MissingInput",
                {"relax/prims_llvm.so", "--function", "prims"},
                "input \"n\" of function \"prims\" is missing, expected T.int64\n"
                "  for example --input n=3\n"
                "  inputs of function \"prims\": n T.int64, f T.float64, b T.bool\n"},
        Refusal{
            "UnknownInput",
            {lm, "--function", "embed", "--input", "idx=relax/lm_paged_llvm.npz:c3_a0"},
            "input \"idx\" of function \"embed\" not found, did you mean \"ids\"\n"
            "  inputs of function \"embed\": ids int32[seq_len], packed_params T.Tuple(R.Tensor("},
        Refusal{
            "PositionBeyondTheLast",
            {"relax/cnn_llvm.so", "--input", "1=relax/cnn_llvm.npz:c0_a0"},
            "input \"1\" of the model not found\n  inputs of the model: x float32[1, 1, 8, 8]\n"},
        Refusal{
            "InputThatIsNoTensor",
            {"relax/prims_llvm.so", "--function", "prims", "--input", "n=relax/cnn_llvm.npz:c0_a0"},
            "input \"n\" of function \"prims\" is T.int64, files contain tensors\n"
            "  for example --input n=3\n"
            "  inputs of function \"prims\": n T.int64, f T.float64, b T.bool\n"},
        Refusal{"AnotherType",
                {"relax/cnn_dyn_llvm.so", "--input", "x=relax/cnn_dyn_llvm.npz:c6_a0"},
                "input \"x\" of the model is float32[2, 1, 7, 8], expected float32[n, 1, 8, 8]\n"
                "  for example --input x=x.npy or --input x=random --shape n=1\n"
                "  inputs of the model: x float32[n, 1, 8, 8]\n"},
        Refusal{
            "EachWithoutAnAxis",
            {"relax/cnn_params_llvm.so", "--each", "--input",
             "w1=relax/control_flow_llvm.npz:c6_a0"},
            "input \"w1\" of the model is int32[], expected an additional first axis for --each\n"},
        Refusal{"InputOfALibrary",
                {"relax/tir_ret_llvm.so", "--function", "addi", "--input",
                 "x=relax/cnn_llvm.npz:c0_a0"},
                "the file has no model, so that its function \"addi\" has no inputs by name; "
                "`gantry run` passes arguments by position with --arg\n"},
        Refusal{"Capture",
                {"relax/cnn_llvm.so", "--capture", "--input", "x=relax/cnn_llvm.npz:c0_a0"},
                "the model is a virtual machine, only graphs can be recorded (capture)\n"}),
    [](const auto& test) { return test.param.name; });

TEST(RunVmOptions, PassesInputsEitherByNameOrByPosition) {
  const Outcome run = gantry({"run", "relax/cnn_llvm.so", "--function", "main", "--arg", "none",
                              "--input", "x=relax/cnn_llvm.npz:c0_a0"});

  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("excludes"));
}

}  // namespace
}  // namespace gantry::test
