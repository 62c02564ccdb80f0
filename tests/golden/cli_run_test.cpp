// SPDX-License-Identifier: Apache-2.0
//
// Runs artifacts that TVM exported with the built program, and compares the outputs with TVM's.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/formats/arrays/npy.hpp"
#include "tests/support/array_value.hpp"
#include "tests/support/npz_file.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

constexpr gantry_dtype float32{2, 32, 1};

std::string write_npy(const std::filesystem::path& path, std::vector<std::int64_t> shape,
                      const std::vector<float>& values) {
  const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size());
  write_file(path, npy_bytes(float32, shape, data).value());
  return path.string();
}

struct Model {
  std::string name, input, member;
};

class RunModel : public ::testing::TestWithParam<Model> {};

// The machine code and the order of operations are the same, so the outputs are equal bit for bit.
TEST_P(RunModel, MatchesTvmBitForBit) {
  const std::string base = "tvm-0.12/" + GetParam().name;

  const Outcome run = with_graph({"run", base + ".so", "--input",
                                  GetParam().member + "=tvm-0.12/" + GetParam().input, "--each",
                                  "--expect", base + ".expected.npz"});

  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr("\nequal to " + base + ".expected.npz\n"));
}

INSTANTIATE_TEST_SUITE_P(Golden, RunModel,
                         ::testing::Values(Model{"digits_mlp_llvm", "digits_mlp.input.npz", "x"},
                                           Model{"digits_mlp_c", "digits_mlp.input.npz", "x"},
                                           Model{"resnet20_llvm", "resnet20.input.npz", "data"},
                                           Model{"resnet20_c", "resnet20.input.npz", "data"}),
                         [](const auto& test) { return test.param.name; });

TEST(Run, WritesTheOutputOfOneInput) {
  const TempDir temp;
  const auto inputs = floats_in(golden("tvm-0.12/digits_mlp.input.npz"), "x");
  const auto expected = floats_in(golden("tvm-0.12/digits_mlp_c.expected.npz"), "output");
  const std::string x =
      write_npy(temp / "x.npy", {1, 64}, {inputs.begin() + 64, inputs.begin() + 128});

  const Outcome run = with_graph({"run", "tvm-0.12/digits_mlp_c.so", "--input", "x=" + x,
                                  "--output", (temp / "y.npz").string()});

  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(floats_in(temp / "y.npz", "output"),
            std::vector<float>(expected.begin() + 10, expected.begin() + 20));
}

struct Entry {
  std::string file, function;
};

class RunFunction : public ::testing::TestWithParam<Entry> {};

TEST(RunFunctionOutput, ShowsUpToEightElements) {
  const auto shown = [](std::string_view array) {
    const std::string zeros = gantry::concat("zeros:", array);
    return run_gantry({"run", "tvm-0.12/axpy2_c.so", "--function", "axpy2", "--arg", zeros, "--arg",
                       zeros, "--arg", zeros})
        .out;
  };

  EXPECT_THAT(shown("float32[8]"), HasSubstr("arg2  float32[8]  0 0 0 0 0 0 0 0\n"));
  EXPECT_THAT(shown("float32[9]"), HasSubstr("arg2  float32[9]  0 0 0 0 0 0 0 0 ...\n"));
}

TEST_P(RunFunction, ComputesAPlusTwoB) {
  const TempDir temp;
  std::vector<float> a, b, expected;
  for (int i = 0; i < 37; ++i) {
    a.push_back(0.5F * static_cast<float>(i) - 3);
    b.push_back(static_cast<float>(i * i));
    expected.push_back(a.back() + 2 * b.back());
  }

  const Outcome run =
      run_gantry({"run", GetParam().file, "--function", GetParam().function, "--arg",
                  write_npy(temp / "a.npy", {37}, a), "--arg", write_npy(temp / "b.npy", {37}, b),
                  "--arg", "zeros:float32[37]", "--output", (temp / "out.npz").string()});

  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(floats_in(temp / "out.npz", "arg0"), a);
  EXPECT_EQ(floats_in(temp / "out.npz", "arg2"), expected);
}

INSTANTIATE_TEST_SUITE_P(Golden, RunFunction,
                         ::testing::Values(Entry{"tvm-0.12/axpy2_llvm.so", "axpy2"},
                                           Entry{"tvm-0.12/axpy2_llvm.so", "__tvm_main__"},
                                           Entry{"tvm-0.12/axpy2_c.so", "axpy2"},
                                           Entry{"tvm-0.25/axpy2_llvm.so", "axpy2"},
                                           Entry{"tvm-0.25/axpy2_llvm.so", "__tvm_main__"},
                                           Entry{"tvm-0.25/axpy2_c.so", "axpy2"},
                                           Entry{"tvm-0.12/axpy2_c.so", "__tvm_main__"}));

struct JsonCall {
  std::string function;
  std::vector<std::string> args;
  std::string result;
};

class RunFunctionWithJson : public ::testing::TestWithParam<JsonCall> {};

TEST_P(RunFunctionWithJson, PrintsItsResult) {
  std::vector<std::string> words{"run", "tvm-ffi/0.1.15/containers.so", "--function",
                                 GetParam().function};
  for (const std::string& arg : GetParam().args) words.insert(words.end(), {"--arg", arg});

  const Outcome run = run_gantry(words);

  EXPECT_THAT(run.out, StartsWith(GetParam().result)) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    Containers, RunFunctionWithJson,
    ::testing::Values(
        JsonCall{"sum", {"json:[1, 2, -9]"}, "result  int64[]  -6\n"},
        JsonCall{"map_at", {R"(json:{"a": [1], "b": 7})", "str:b"}, "result  int64[]  7\n"},
        JsonCall{"maybe", {"json:true"}, "result  \"present\"\n"},
        JsonCall{"pair_of", {"int:1", "json:\"x\""}, "result0  int64[]  1\nresult1  \"x\"\n"}),
    [](const auto& test) { return test.param.function; });

TEST(RunFunction, PrintsTheKindOfARaisedErrorAndWithDetailsItsBacktrace) {
  const std::string library = "tvm-ffi/0.1.15/raise_error.so";
  const std::vector<std::string> words{"run",   library,          "--function", "raise_kind",
                                       "--arg", "str:ValueError", "--arg",      "str:x is 3"};
  std::vector<std::string> with_details = words;
  with_details.emplace_back("-v");

  const Outcome run = run_gantry(words);
  const Outcome details = run_gantry(with_details);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: x is 3\n  in host function \"raise_kind\" of "));
  EXPECT_THAT(run.err, EndsWith("\n  raised as ValueError\n"));
  EXPECT_THAT(details.err, HasSubstr("\n  backtrace, most recent call first\n    File \""));
}

TEST(RunFunctionJson, IsCheckedWithTheCommandLine) {
  const auto usage_of = [](const std::string& arg) {
    const Outcome run =
        run_gantry({"run", "tvm-ffi/0.1.15/containers.so", "--function", "sum", "--arg", arg});
    EXPECT_EQ(run.status, 2) << run.err;
    return run.err.substr(0, run.err.find('\n'));
  };

  EXPECT_EQ(usage_of("json:[9223372036854775808]"),
            "gantry: --arg: json: \"9223372036854775808\" is not a 64-bit integer; in argument "
            "\"json:[9223372036854775808]\"");
  EXPECT_THAT(usage_of("json:[-9223372036854775809]"), HasSubstr("is not a 64-bit integer"));
  EXPECT_THAT(usage_of("json:[18446744073709551616]"), HasSubstr("is not a 64-bit integer"));
  EXPECT_EQ(usage_of("json:[1"),
            "gantry: --arg: json is not JSON: ends after \"[1\"; in argument \"json:[1\" (offset "
            "7)");
}

// The expected outputs are those of another device, which differ in the last digits.
TEST(RunExpect, ReportsDifferencesWithStatus1) {
  const Args run{"run",
                 "tvm-0.12/digits_mlp_c.so",
                 "--input",
                 "x=tvm-0.12/digits_mlp.input.npz",
                 "--each",
                 "--expect",
                 "tvm-0.12/digits_mlp_vulkan.expected.npz"};
  Args tolerant = run;
  tolerant.insert(tolerant.end(), {"--rtol", "1e-3", "--atol", "1e-5"});

  const Outcome exact = with_graph(run);
  const Outcome near = with_graph(tolerant);

  EXPECT_EQ(exact.status, 1);
  EXPECT_THAT(exact.err,
              StartsWith("gantry: \"output\" differs at [0, 0, 0]: found 7.805147e-06, expected "));
  EXPECT_THAT(exact.err, HasSubstr(" of 3600 elements differ, by at most "));
  EXPECT_THAT(exact.err,
              HasSubstr("\n  compared with \"tvm-0.12/digits_mlp_vulkan.expected.npz\"\n"));
  EXPECT_EQ(near.status, 0) << near.err;
}

// An unreadable file of expected outputs is reported before the runs.
TEST(RunExpect, IsReadBeforeTheModelIsLoaded) {
  const Outcome run = with_graph({"run", "no/such.so", "--expect", "no/such.npz"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("no/such.npz"));
}

struct BadInput {
  std::string name;
  Args options;
  std::string error;
};

class InvalidInput : public ::testing::TestWithParam<BadInput> {};

TEST_P(InvalidInput, IsRejectedWithAListOfTheModelsInputs) {
  Args args{"run", "tvm-0.12/digits_mlp_c.so"};
  args.insert(args.end(), GetParam().options.begin(), GetParam().options.end());

  const Outcome run = with_graph(args);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_EQ(run.err, "gantry: " + GetParam().error +
                         "\n  inputs of the model: x float32[1, 64]\n"
                         "  while running \"tvm-0.12/digits_mlp_c.so\"\n");
}

INSTANTIATE_TEST_SUITE_P(
    Run, InvalidInput,
    ::testing::Values(BadInput{"Missing",
                               {},
                               "input \"x\" of the model is missing, expected float32[1, 64]\n"
                               "  for example --input x=x.npy or --input x=random"},
                      BadInput{"Unknown",
                               {"--input", "y=tvm-0.12/digits_mlp.input.npz"},
                               "input \"y\" of the model not found"},
                      BadInput{
                          "Shape",
                          {"--input", "x=tvm-0.12/digits_mlp.input.npz"},
                          "input \"x\" of the model is float32[360, 1, 64], expected "
                          "float32[1, 64]\n  --each runs once for each element of the first axis"},
                      BadInput{"Twice",
                               {"--each", "--input", "x=tvm-0.12/digits_mlp.input.npz", "--input",
                                "x=tvm-0.12/digits_mlp.input.npz"},
                               "input \"x\" of the model is given twice"}),
    [](const auto& test) { return test.param.name; });

// A model of two inputs, and files for them.
class RunInputs : public ::testing::Test {
 protected:
  RunInputs() {
    write_file(temp_ / "add.c",
               "int add(void** args, const int* codes, int count) {\n"
               "  **(float**)args[2] = **(float**)args[0] - 2 * **(float**)args[1];\n"
               "  return (void)codes, count - 3;\n"
               "}\n");
    write_file(temp_ / "add.yaml",
               "schema: \"1.0\"\n"
               "sources: [add.c]\n"
               "graph:\n"
               "  inputs: {first: \"float32[1]\", second: \"float32[1]\"}\n"
               "  operators:\n"
               "    - {function: add, inputs: [first, second], outputs: {out: \"float32[1]\"}}\n"
               "  outputs: [out]\n");
    write_npy(temp_ / "10.npy", {1}, {10});
    write_pair("both.npz", "first", "second");
    write_pair("other.npz", "first", "secnd");
    write_pair("x.npz", "x", "z");
    EXPECT_EQ(run_gantry({"pack", path("add.yaml"), "-o", path("add.so")}).status, 0);
  }

  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // 3 and 1
  void write_pair(std::string_view file, std::string_view one, std::string_view two) const {
    const std::array<std::int64_t, 1> shape{1};
    const std::array<float, 2> values{3, 1};
    const auto* data = reinterpret_cast<const std::uint8_t*>(values.data());
    const std::array<NpzItem, 2> items{NpzItem{one, float32, shape, {data, 4}},
                                       NpzItem{two, float32, shape, {data + 4, 4}}};
    EXPECT_TRUE(test::write_npz(temp_ / file, items).ok());
  }
  Outcome run(Args inputs) const {
    Args args{"run", path("add.so")};
    for (const std::string& input : inputs) args.insert(args.end(), {"--input", input});
    return with_graph(args);
  }

  const TempDir temp_;
};

TEST_F(RunInputs, AreAllMembersOfAFileWithoutAName) {
  EXPECT_THAT(run({path("both.npz")}).out, StartsWith("out  float32[1]  1\n"));
}

TEST_F(RunInputs, AreMembersThatAreNamed) {
  EXPECT_THAT(run({"first=" + path("x.npz:z"), "second=" + path("x.npz:x")}).out,
              StartsWith("out  float32[1]  -5\n"));
  EXPECT_THAT(run({"second=" + path("both.npz"), "first=" + path("10.npy")}).out,
              StartsWith("out  float32[1]  8\n"));
}

TEST_F(RunInputs, ThatTheFileDoesNotContainAreListed) {
  EXPECT_THAT(run({"first=" + path("x.npz")}).err,
              StartsWith("gantry: input \"first\": member \"first\" of \"" + path("x.npz") +
                         "\" not found; members: \"x\", \"z\"\n"));
  EXPECT_THAT(run({"first=" + path("both.npz:z")}).err,
              StartsWith("gantry: input \"first\": member \"z\" of \"" + path("both.npz") +
                         "\" not found; members: \"first\", \"second\"\n"));
}

TEST_F(RunInputs, ThatTheModelDoesNotHaveAreRefusedWithTheNearest) {
  EXPECT_THAT(run({path("other.npz")}).err,
              StartsWith("gantry: input \"secnd\" of the model not found, did you mean \"second\"\n"
                         "  inputs of the model: first float32[1], second float32[1]\n"));
}

TEST_F(RunInputs, RequireANameIfTheFileHasNone) {
  EXPECT_THAT(run({path("10.npy")}).err, StartsWith("gantry: the file \"" + path("10.npy") +
                                                    "\" names no input, the model has 2\n"));
}

// The only member of a file needs no name, and the only input needs none either.
TEST(Run, TakesTheOnlyMemberForTheOnlyInput) {
  for (const char* input : {"tvm-0.12/digits_mlp.input.npz", "x=tvm-0.12/digits_mlp.input.npz:x"}) {
    EXPECT_EQ(with_graph({"run", "tvm-0.12/digits_mlp_c.so", "--each", "--input", input}).status,
              0);
  }
  EXPECT_THAT(
      with_graph({"run", "tvm-0.12/digits_mlp_c.so", "--input", "x=tvm-0.12/resnet20.input.npz"})
          .err,
      StartsWith("gantry: input \"x\" of the model is float32["));
}

TEST(RunFunctionOfALibrary, WithoutASymbolOfTvmIsRefusedUnlessForced) {
  const TempDir temp;
  write_file(temp / "f.c", "int f(void) { return 0; }\n");
  write_file(temp / "f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");
  const std::string packed = (temp / "packed.so").string();
  const std::string plain = (temp / "plain.so").string();
  ASSERT_EQ(run_gantry({"pack", (temp / "f.yaml").string(), "-o", packed}).status, 0);
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + plain + " " + (temp / "f.c").string()).c_str()),
            0);

  const Outcome refused = run_gantry({"run", plain, "--function", "f"});

  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err,
            "gantry: \"plain.so\" has no symbol of TVM, so its functions probably have other "
            "arguments; --force calls \"f\" anyway\n");
  EXPECT_EQ(run_gantry({"run", plain, "--function", "f", "--force"}).status, 0);
  EXPECT_EQ(run_gantry({"run", packed, "--function", "f"}).status, 0);
  EXPECT_EQ(run_gantry({"run", plain, "--force"}).status, 2);
}

TEST(Run, ListsTheFunctionsOfALibraryWithoutAGraph) {
  const Outcome run = run_gantry({"run", "tvm-0.12/axpy2_c.so"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: function \"default\" not found; "));
  EXPECT_THAT(run.err, HasSubstr(" has \"axpy2\"\n"));
  EXPECT_THAT(run.err,
              HasSubstr("\n  gantry run --function NAME calls one function of a library\n"));
}

TEST(RunAheadOfTime, HasTheOutputsOfTvm) {
  const Outcome run =
      run_gantry({"--plugins", built_plugins("aot"), "run", "tvm-0.12/digits_mlp_aot_llvm.so",
                  "--each", "--input", "tvm-0.12/digits_mlp.input.npz", "--expect",
                  "tvm-0.12/digits_mlp_llvm.expected.npz", "--rtol", "0", "--atol", "0"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nequal to tvm-0.12/digits_mlp_llvm.expected.npz\n"));
}

TEST(RunAheadOfTime, IsMeasuredByItsOperators) {
  const Outcome bench = run_gantry({"--plugins", built_plugins("aot"), "bench",
                                    "tvm-0.12/digits_mlp_aot_llvm.so", "--repeat", "3"});

  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_THAT(bench.out, HasSubstr("\noperators (6)\n"));
  for (const char* name :
       {"fused_nn_contrib_dense_pack_add_nn_relu", "fused_nn_contrib_dense_pack_add_nn_relu_1",
        "fused_nn_contrib_dense_pack_add", "fused_nn_softmax", "__tvm_main__"})
    EXPECT_THAT(bench.out, HasSubstr(std::string("  tvmgen_default_") + name + "\n"));
  EXPECT_THAT(bench.out, Not(HasSubstr("jump slot")));
}

TEST(RunAheadOfTime, WithoutJumpSlotsIsMeasuredByItsFunction) {
  const Outcome bench = run_gantry({"--plugins", built_plugins("aot"), "bench",
                                    build_tree() / "tests/aot/usmp.so", "--repeat", "3"});

  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_THAT(bench.out, ::testing::EndsWith(
                             "  the model's function calls no operator through a jump slot of its "
                             "library: their times are those of the function\n"));
}

TEST(Run, ListsEveryTypeKeyWithoutAPlugin) {
  const Outcome none = run_gantry({"run", "tvm-0.12/digits_mlp_dnnl.so"});

  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err,
              StartsWith("gantry: digits_mlp_dnnl.so needs 3 things: \"GraphExecutorFactory\", "
                         "\"const_loader\", \"dnnl_json\", served by no plugin\n"));
}

TEST(RunDevice, ThatTheHostLacksIsNamedBesideThoseThatItHas) {
  const Outcome run = with_graph({"run", "tvm-0.12/digits_mlp_vulkan.so"});
  const Outcome bench = with_graph({"bench", "tvm-0.12/digits_mlp_vulkan.so"});
  const Outcome allowed = with_graph({"run", "tvm-0.12/digits_mlp_vulkan.so", "--allow-missing"});

  const std::string made = "\"digits_mlp_vulkan.so\" is made for vulkan; this host has: cpu\n";
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("\n  " + made));
  EXPECT_THAT(bench.err, HasSubstr("\n  " + made));
  EXPECT_EQ(allowed.status, 1);
  EXPECT_THAT(allowed.err, HasSubstr("\ngantry: " + made));
}

TEST(RunDevice, MustBeOneThatTheGraphNames) {
  const Outcome run = with_graph(
      {"run", "tvm-0.12/digits_mlp_vulkan.so", "--allow-missing", "--device", "cpu", "-q"});

  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err,
            "gantry: \"digits_mlp_vulkan.so\" is made for vulkan, --device names cpu; this host "
            "has: cpu\n");
}

TEST(RunDevice, OfAnUnknownNameIsReportedWithTheNearest) {
  const auto error_of = [](const std::string& name) {
    return with_graph({"run", "tvm-0.12/digits_mlp_c.so", "--device", name}).err;
  };

  EXPECT_EQ(error_of("cpuu:1"),
            "gantry: device \"cpuu:1\" not found, did you mean \"cpu\"; this host has: cpu\n");
  EXPECT_THAT(error_of("vulkan"),
              StartsWith("gantry: device \"vulkan\" not found; this host has: cpu\n  "));
  EXPECT_THAT(error_of(":"), StartsWith("gantry: device \":\" has no kind"));
}

// Both the load and the named device list the devices of the host in their errors.
TEST(RunDevice, WhosePluginsAreRefusedIsTriedOnce) {
  const TempDir plugins;
  for (const std::string id : {"test.a", "test.b"}) {
    write_file(plugins / (id + ".yaml"),
               "schema: \"1.0\"\nversion: \"1.0.0\"\nid: " + id +
                   "\nlibrary: libnone.so\nabi: {major: 1, min_minor: 0, max_minor: 0}\n"
                   "keys: [{key: vulkan}]\ndevices: [{name: vulkan}]\n");
  }
  const auto lines_of = [&](Args args) {
    args.insert(args.begin(), {"--plugins", plugins.path()});
    const std::string err = with_graph(args).err;
    std::vector<std::string> all;
    std::istringstream in(err);
    for (std::string line; std::getline(in, line);) {
      if (line.find("cannot serve") != line.npos || line.find("this host has") != line.npos)
        all.push_back(line);
    }
    return all;
  };
  const auto is_fallback = StartsWith(
      "gantry: warning: plugin test.a 1.0.0 cannot serve device \"vulkan\", trying "
      "test.b 1.0.0: ");

  EXPECT_THAT(lines_of({"run", "tvm-0.12/digits_mlp_vulkan.so"}),
              ElementsAre(is_fallback,
                          "  \"digits_mlp_vulkan.so\" is made for vulkan; this host "
                          "has: cpu"));
  EXPECT_THAT(lines_of({"run", "tvm-0.12/digits_mlp_c.so", "--device", "vulkan"}),
              ElementsAre(is_fallback, "gantry: device \"vulkan\" not found; this host has: cpu"));
}

TEST(RunDevice, OfCpuCodeIsTheCpuWithoutALine) {
  const Outcome run = with_graph({"run", "tvm-0.12/digits_mlp_c.so", "--input",
                                  "x=tvm-0.12/digits_mlp.input.npz", "--each", "--json"});

  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_EQ(nlohmann::json::parse(run.out)["devices"], nlohmann::json::parse(R"(["cpu"])"));
}

TEST(Run, WithAllowMissingWarnsOnLoadAndFailsOnUse) {
  const Args args{"run",   "tvm-0.12/axpy2_opencl.so", "--function",      "axpy2",
                  "--arg", "zeros:float32[4]",         "--arg",           "zeros:float32[4]",
                  "--arg", "zeros:float32[4]",         "--allow-missing", "--device",
                  "cpu"};

  const Outcome run = with_graph(args);

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: warning: "));
  EXPECT_THAT(run.err, HasSubstr("opencl"));
  EXPECT_THAT(run.err, HasSubstr("\ngantry: "));
}

TEST(Run, WritesJsonAndATrace) {
  const TempDir temp;
  const std::string trace = (temp / "trace.json").string();

  const Outcome run =
      with_graph({"run", "tvm-0.12/digits_mlp_c.so", "--input", "x=tvm-0.12/digits_mlp.input.npz",
                  "--each", "--repeat", "2", "--json", "--trace", trace});

  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["outputs"],
            nlohmann::json::parse(R"([{"name":"output","dtype":"float32","shape":[360,1,10]}])"));
  EXPECT_EQ(json["times"]["runs"], 720);
  EXPECT_GT(json["times"]["median_ns"], 0);
  EXPECT_THAT(json["plugins"].dump(), HasSubstr("gantry.graph "));
  EXPECT_GT(json["memory"]["resident"], 0);
  const auto bytes = read_file(trace);
  const auto spans = nlohmann::json::parse(bytes.begin(), bytes.end());
  EXPECT_THAT(spans.dump(), HasSubstr("\"ph\":\"X\""));
}

TEST(InspectServedBy, IsThePluginOfTheManifest) {
  const Outcome inspect = with_graph({"inspect", "--json", "tvm-0.12/digits_mlp_opencl.so"});

  ASSERT_EQ(inspect.status, 0) << inspect.err;
  const auto json = nlohmann::json::parse(inspect.out);
  EXPECT_EQ(json["modules"][0]["served_by"], "gantry.graph");
  EXPECT_EQ(json["modules"][1]["served_by"], nullptr);
  EXPECT_EQ(json["modules"][2]["served_by"], nullptr);
}

TEST(Doctor, ExitsWith1IfARequirementIsNotServed) {
  const Outcome served =
      with_graph({"plugins", "doctor", "--artifact", "tvm-0.12/digits_mlp_c.so"});
  const Outcome not_served =
      with_graph({"plugins", "doctor", "--json", "--artifact", "tvm-0.12/digits_mlp_opencl.so"});

  EXPECT_EQ(served.status, 0) << served.out << served.err;
  EXPECT_THAT(served.out, HasSubstr("CHOSEN   gantry.graph "));
  EXPECT_EQ(not_served.status, 1);
  const auto json = nlohmann::json::parse(not_served.out);
  EXPECT_EQ(json["requirements"][0]["served"], true);
  EXPECT_EQ(json["requirements"][1]["what"], "opencl");
  EXPECT_EQ(json["requirements"][1]["served"], false);
  EXPECT_EQ(json["requirements"][1]["required_by"],
            nlohmann::json::parse(R"(["entry 2 \"opencl\" of digits_mlp_opencl.so"])"));
}

TEST(Doctor, ReportsOneKey) {
  EXPECT_EQ(with_graph({"plugins", "doctor", "--key", "GraphExecutorFactory"}).status, 0);
  EXPECT_EQ(with_graph({"plugins", "doctor", "--key", "acme.npu"}).status, 1);
}

TEST(PluginsList, ListsManifestsAndTheirState) {
  const Outcome list = with_graph({"plugins", "list", "--json"});

  ASSERT_EQ(list.status, 0) << list.err;
  const auto json = nlohmann::json::parse(list.out);
  ASSERT_EQ(json["plugins"].size(), 1u);
  EXPECT_EQ(json["plugins"][0]["id"], "gantry.graph");
  EXPECT_EQ(json["plugins"][0]["state"], "inspected");
  EXPECT_EQ(run_gantry({"plugins", "list"}).out, "no plugin is installed\n");
}

TEST(Devices, AlwaysListTheCpu) {
  const Outcome devices = run_gantry({"devices", "--json"});

  ASSERT_EQ(devices.status, 0) << devices.err;
  const auto json = nlohmann::json::parse(devices.out);
  EXPECT_EQ(json["devices"][0]["name"], "cpu");
  EXPECT_EQ(json["devices"][0]["type"], 1);
  EXPECT_EQ(json["devices"][0]["plugin"], nullptr);
}

TEST(Version, PrintsTheVersionsOfCoreAndAbi) {
  const Outcome version = run_gantry({"version"});

  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, StartsWith("gantry 0."));
  EXPECT_THAT(version.out, HasSubstr("\n  abi     1.0"));
}

TEST(Pack, ReportsAMissingRecipe) {
  const Outcome pack = run_gantry({"pack", "no-such.yaml", "-o", "/dev/null/x.so"});

  EXPECT_EQ(pack.status, 1);
  EXPECT_THAT(pack.err, StartsWith("gantry: "));
  EXPECT_THAT(pack.err, HasSubstr("no-such.yaml"));
}

}  // namespace
}  // namespace gantry::test
