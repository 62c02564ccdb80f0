// SPDX-License-Identifier: Apache-2.0
//
// Compares the output of `gantry inspect` for every golden file with the expected files, byte for
// byte. tests/golden/update writes these; their diff is reviewed like code.
#include "tests/golden/cli_command.hpp"
#include "tests/golden/expected_text.hpp"
#include "tests/support/files.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"
#include "tests/support/words.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every golden file that has expected texts: "tvm-0.12/axpy2_c.so". Of those of Relax, its functions
// and tvm-ffi, only directories of weights that are not damaged have them.
std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(golden(""))) {
    const std::string name = entry.path().lexically_relative(golden("")).string();
    if (name.starts_with("functions/") || name.starts_with("tvm-ffi/")) continue;
    if (name.starts_with("relax/")) {
      if (name.ends_with(".weights") && name.starts_with("relax/weights_") &&
          !name.starts_with("relax/weights_bad_"))
        names.push_back(name);
      continue;
    }
    if (name.ends_with(".so") || name.ends_with(".tar") || name.ends_with(".input.npz")) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const std::string& file) {
  std::string name = file;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class Inspect : public ::testing::TestWithParam<std::string> {};

TEST_P(Inspect, PrintsTheExpectedText) {
  const Outcome inspect = run_gantry({"inspect", GetParam()});

  EXPECT_EQ(inspect.status, 0);
  EXPECT_THAT(inspect.err, IsEmpty());
  EXPECT_EQ(inspect.out, expected(GetParam() + ".inspect.txt"));
}

TEST_P(Inspect, PrintsAtMost100Columns) {
  std::istringstream lines(run_gantry({"inspect", GetParam()}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST_P(Inspect, PrintsTheExpectedJson) {
  const Outcome inspect = run_gantry({"inspect", "--json", GetParam()});

  EXPECT_EQ(inspect.status, 0);
  EXPECT_THAT(inspect.err, IsEmpty());
  EXPECT_EQ(inspect.out, expected(GetParam() + ".inspect.json"));
}

INSTANTIATE_TEST_SUITE_P(Golden, Inspect, ::testing::ValuesIn(golden_files()),
                         [](const auto& test) { return test_name(test.param); });

TEST(InspectWeights, ReportsShardsThatAreDamaged) {
  const std::string directory = "relax/weights_bad_missing_shard.weights";
  const Outcome missing = run_gantry({"inspect", directory});
  const Outcome malformed =
      run_gantry({"inspect", "--json", "relax/weights_bad_offset_end.weights"});

  EXPECT_EQ(missing.status, 0) << missing.err;
  EXPECT_THAT(missing.out,
              HasSubstr("\nwarnings\n  " + directory + "/params_shard_1.bin does not exist\n"));
  EXPECT_EQ(malformed.status, 0) << malformed.err;
  EXPECT_THAT(malformed.out, HasSubstr("\"warnings\": [\n    \"byteOffset is "));
}

TEST(InspectWeights, RefusesAMalformedIndex) {
  const Outcome inspect = run_gantry({"inspect", "relax/weights_bad_json.weights"});

  EXPECT_EQ(inspect.status, 1);
  EXPECT_THAT(inspect.out, IsEmpty());
  EXPECT_EQ(inspect.err,
            "gantry: index of weights is not JSON: ends after \"{}, \\\"records\\\": [\" (offset "
            "0x1d)\n  in relax/weights_bad_json.weights/tensor-cache.json\n");
}

// Each warning names the occurrence before.
TEST(InspectWeights, WarnsOfANameThatOccursThreeTimes) {
  const TempDir temp;
  const std::string directory = temp / "w";
  constexpr std::string_view one =
      R"({"name": "a", "shape": [1], "dtype": "float32", "format": "raw", "nbytes": 4, "byteOffset": )";
  write_weights(directory, replaced(small_index,
                                    R"({"name": "b", "shape": [4], "dtype": "float32", )"
                                    R"("format": "f32-to-bf16", "nbytes": 8, "byteOffset": 0})",
                                    gantry::concat(one, "0}, ", one, "4}")));

  const Outcome inspect = run_gantry({"inspect", directory});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out,
              HasSubstr("  \"a\" occurs twice, in shard 0 and shard 1: the last one is loaded\n"
                        "  \"a\" occurs twice, in shard 1: the last one is loaded\n"));
}

TEST(InspectWeights, ComparesTheirChecksums) {
  const TempDir temp;
  const std::string directory = temp / "w";
  const auto inspect = [&](std::string_view sum, const std::vector<std::string>& more) {
    write_weights(directory,
                  replaced(small_index, R"("nbytes": 12, "records")",
                           gantry::concat(R"("nbytes": 12, "md5sum": ")", sum, R"(", "records")")));
    std::vector<std::string> args{"inspect", directory, "--verify"};
    args.insert(args.end(), more.begin(), more.end());
    return run_gantry(args);
  };

  // printf '\1\2\3\4\5\6\7\10\11\12\13\14' | md5sum
  const Outcome right = inspect("d2bc225f9724ea69812867fc45794a2e", {});
  const Outcome json = inspect("d2bc225f9724ea69812867fc45794a2e", {"--json"});
  const Outcome wrong = inspect("00000000000000000000000000000000", {});
  const Outcome no_sum = inspect("", {});

  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_THAT(right.out, HasSubstr("  verified    1 of 2 shards\n"));
  EXPECT_THAT(json.out, HasSubstr("\"verified_shards\": 1"));
  EXPECT_EQ(wrong.status, 1);
  EXPECT_EQ(wrong.err,
            "gantry: shard \"s0.bin\" has the MD5 checksum d2bc225f9724ea69812867fc45794a2e, "
            "tensor-cache.json states \"00000000000000000000000000000000\"; copy the directory "
            "again\n  in \"" +
                directory + "\"\n");
  EXPECT_EQ(no_sum.err,
            "gantry: tensor-cache.json states no checksums (md5sum), so that none can be "
            "compared\n  in \"" +
                directory + "\"\n");
}

TEST(InspectWeights, OnlyHaveChecksums) {
  EXPECT_EQ(run_gantry({"inspect", "tvm-0.12/axpy2_c.so", "--verify"}).err,
            "gantry: \"tvm-0.12/axpy2_c.so\" is a shared library without checksums, so that "
            "--verify has no effect\n");
}

TEST(InspectWeights, HasNoImportTree) {
  EXPECT_EQ(run_gantry({"inspect", "relax/weights_old.weights", "--tree", "dot"}).err,
            "gantry: \"relax/weights_old.weights\" is a directory of weights without modules, so "
            "that --tree has no effect\n");
}

TEST(InspectTree, PrintsOnlyTheTreeInEachForm) {
  const std::string file = "tvm-0.12/digits_mlp_opencl.so";

  EXPECT_EQ(run_gantry({"inspect", "--tree", "text", file}).out,
            "[0] GraphExecutorFactory\n"
            "`- [1] _lib\n"
            "   `- [2] opencl\n");
  EXPECT_EQ(run_gantry({"inspect", "--tree", "dot", file}).out,
            "digraph imports {\n"
            "  node [shape=box];\n"
            "  m0 [label=\"0: GraphExecutorFactory\"];\n"
            "  m1 [label=\"1: _lib\"];\n"
            "  m2 [label=\"2: opencl\"];\n"
            "  m0 -> m1;\n"
            "  m1 -> m2;\n"
            "}\n");
  EXPECT_EQ(run_gantry({"inspect", "--tree", "mermaid", file}).out,
            "graph TD\n"
            "  m0[\"0: GraphExecutorFactory\"]\n"
            "  m1[\"1: _lib\"]\n"
            "  m2[\"2: opencl\"]\n"
            "  m0 --> m1\n"
            "  m1 --> m2\n");
}

// The offsets are those in the JSON output for the same file.
TEST(InspectExtract, WritesEveryPayload) {
  const TempDir temp;
  const std::string directory = (temp / "out").string();

  const Outcome inspect =
      run_gantry({"inspect", "--extract", directory, "tvm-0.12/digits_mlp_opencl.so"});

  ASSERT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_EQ(inspect.out,
            directory + "/0-GraphExecutorFactory.bin\n" + directory + "/2-opencl.bin\n");
  const auto file = read_file(golden("tvm-0.12/digits_mlp_opencl.so"));
  const auto graph = read_file(temp / "out/0-GraphExecutorFactory.bin");
  const auto opencl = read_file(temp / "out/2-opencl.bin");
  ASSERT_EQ(graph.size(), 30355u);
  ASSERT_EQ(opencl.size(), 11986u);
  const std::uint64_t container_at = 0x634c;
  EXPECT_TRUE(std::equal(graph.begin(), graph.end(), file.begin() + container_at + 0x2c));
  EXPECT_TRUE(std::equal(opencl.begin(), opencl.end(), file.begin() + container_at + 0x76d9));
}

TEST(InspectExtract, DoesNotWriteThroughALink) {
  const TempDir temp;
  fs::create_directory(temp / "out");
  write_file(temp / "victim", "precious");
  fs::create_symlink(temp / "victim", temp / "out/2-opencl.bin");

  const Outcome inspect = run_gantry(
      {"inspect", "--extract", (temp / "out").string(), "tvm-0.12/digits_mlp_opencl.so"});

  EXPECT_EQ(inspect.status, 1);
  EXPECT_THAT(inspect.err, HasSubstr("2-opencl.bin\" exists and is not a regular file\n"));
  EXPECT_EQ(text_in(temp / "victim"), "precious");
}

// A container that was extracted from a library has the same modules.
TEST(Inspect, ReadsABareContainer) {
  const TempDir temp;
  const auto file = read_file(golden("tvm-0.12/digits_mlp_opencl.so"));
  write_file(temp / "bare", std::span(file).subspan(0x634c, 42495));

  const Outcome inspect = run_gantry({"inspect", "-v", (temp / "bare").string()});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("format      container, 41.5 KiB\n"));
  EXPECT_THAT(inspect.out,
              HasSubstr("2  opencl                0x76d9  11986  no plugin  "
                        "91d88e2c645d75cb01a62d0239e5234f1496c0d5ebd10bb95258bc835700b151\n"));
}

// A container of `count` modules, each importing the next.
Words chain_container(std::uint64_t count) {
  Words content;
  content.u64(count + 1);
  std::vector<std::uint64_t> row{0}, child;
  for (std::uint64_t i = 0; i < count; ++i) {
    content.str("examplejson").str("{}");
    if (i + 1 < count) child.push_back(i + 1);
    row.push_back(child.size());
  }
  content.str("_import_tree").u64s(row).u64s(child);
  Words container;
  container.u64(content.size()).bytes(content.bytes());
  return container;
}

// The output is linear in the number of modules, whatever their depth.
TEST(Inspect, PrintsAChainOf10000ModulesInEveryForm) {
  constexpr std::uint64_t count = 10000;
  const TempDir temp;
  write_file(temp / "chain", chain_container(count).bytes());
  const std::string path = (temp / "chain").string();

  for (const std::vector<std::string>& form : std::vector<std::vector<std::string>>{
           {}, {"--json"}, {"--tree", "text"}, {"--tree", "dot"}, {"--tree", "mermaid"}}) {
    std::vector<std::string> args{"inspect", path};
    args.insert(args.end(), form.begin(), form.end());

    const Outcome inspect = run_gantry(args);

    EXPECT_EQ(inspect.status, 0) << inspect.err;
    EXPECT_THAT(inspect.out, HasSubstr("9999"));
    EXPECT_LT(inspect.out.size(), count * 1000);
  }
}

// No layout is known for "acme.npu", so its bytes include those of "acme.dsp".
TEST(Inspect, ReportsAnUnknownBoundary) {
  const TempDir temp;
  Words content;
  content.u64(4).str("_lib").str("acme.npu").u64(1).str("acme.dsp").u64(2);
  content.str("_import_tree").u64s({0, 2, 2, 2}).u64s({1, 2});
  write_file(temp / "two.bin", Words().u64(content.size()).bytes(content.bytes()).bytes());
  const std::string path = (temp / "two.bin").string();

  const Outcome text = run_gantry({"inspect", path});
  const Outcome json = run_gantry({"inspect", "--json", path});
  const Outcome extract = run_gantry({"inspect", "--extract", (temp / "out").string(), path});

  EXPECT_THAT(text.out, HasSubstr("   <=32  no plugin\n"));
  EXPECT_THAT(text.out, HasSubstr("  |- [1] acme.npu\n  `- [2] ?\n"));
  EXPECT_THAT(json.out, HasSubstr("\"size\": 32,\n      \"extent\": \"unknown\",\n      "
                                  "\"sha256\": null,"));
  EXPECT_EQ(extract.status, 0);
  EXPECT_TRUE(fs::is_empty(temp / "out"));
}

// Nothing in the file is executed, so its machine does not matter.
TEST(Inspect, ReadsALibraryForAnotherMachine) {
  const TempDir temp;
  auto library = read_file(golden("tvm-0.12/digits_mlp_opencl.so"));
  const std::uint16_t aarch64 = 183;
  // e_machine
  library[18] = aarch64 & 0xff, library[19] = aarch64 >> 8;
  write_file(temp / "arm.so", library);

  const Outcome inspect = run_gantry({"inspect", (temp / "arm.so").string()});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("  machine     aarch64\n"));
  EXPECT_THAT(inspect.out, HasSubstr("modules (3)\n"));
}

TEST(InspectSignature, IsTheBeginningOfTheText) {
  EXPECT_THAT(run_gantry({"inspect", "tvm-0.12/digits_mlp_vulkan.so"}).out,
              ::testing::StartsWith("tvm-0.12/digits_mlp_vulkan.so\n"
                                    "  input       x  float32[1, 64]  vulkan\n"
                                    "  output      output  float32[1, 10]  vulkan\n"
                                    "  format      shared-library, "));
}

// A warning about GANTRY_DISABLE shows that the plugins were searched.
TEST(InspectPlugins, AreSearchedOnlyForAContainer) {
  const std::vector<std::string> environment{"GANTRY_DISABLE=acme.none"};

  EXPECT_THAT(run_gantry({"inspect", "tvm-0.12/axpy2_llvm.so"}, environment).err, IsEmpty());
  EXPECT_THAT(run_gantry({"inspect", "tvm-0.12/digits_mlp_llvm.so"}, environment).err,
              HasSubstr("\"acme.none\" matches no plugin"));
}

TEST(InspectPlugins, OfANamedDirectoryAreSearchedWithoutAContainer) {
  EXPECT_THAT(run_gantry({"inspect", "tvm-0.12/axpy2_llvm.so", "--plugins", "/nowhere"}).err,
              HasSubstr("--plugins /nowhere: no such directory"));
}

// A packed library has a filler before each parameter.
TEST(InspectVerbose, AddsDigestsAndFillers) {
  const TempDir temp;
  const std::string recipe = (temp / "f.yaml").string(), library = (temp / "f.so").string();
  write_file(temp / "f.c", "int f(void) { return 0; }\n");
  write_file(temp / "w.npy", std::string("\x93NUMPY\x01\0\x3e\0", 10) +
                                 "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }    \n" +
                                 std::string("\0\0\x80\x3f", 4));
  write_file(temp / "f.yaml",
             "schema: \"1.0\"\n"
             "sources: [f.c]\n"
             "graph:\n"
             "  inputs: {x: \"float32[1]\"}\n"
             "  operators: [{function: f, inputs: [x, w], outputs: {out: \"float32[1]\"}}]\n"
             "  outputs: [out]\n"
             "parameters: {w: {file: w.npy}}\n");
  ASSERT_EQ(run_gantry({"pack", recipe, "-o", library}).status, 0);

  const std::string brief = run_gantry({"inspect", library}).out;
  const std::string verbose = run_gantry({"inspect", library, "-v"}).out;

  EXPECT_THAT(brief, HasSubstr("\n  input       x  float32[1]\n"));
  EXPECT_THAT(brief, HasSubstr("\n  params (1)\n    w  float32[1], 4 B\n"));
  EXPECT_THAT(brief, ::testing::Not(HasSubstr("sha256")));
  EXPECT_THAT(brief, ::testing::Not(HasSubstr("__gantry_fill_")));
  EXPECT_THAT(verbose, HasSubstr("served by  sha256\n"));
  EXPECT_THAT(verbose, HasSubstr("__gantry_fill_0"));
}

TEST(InspectSignatures, AreThoseThatTheLibraryReturns) {
  for (const std::string release : {"0.1.10", "0.1.15"}) {
    const std::string file = "tvm-ffi/" + release + "/typed_function.so";

    const Outcome text = run_gantry({"inspect", file, "--signatures"});
    const Outcome json = run_gantry({"inspect", file, "--signatures", "--json"});

    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, ::testing::EndsWith("\nfunctions (12)\n"
                                              "  add_one(int) -> int\n"
                                              "      Returns x + 1.\n"
                                              "  bits_of(str) -> int\n"
                                              "  count_arguments\n"
                                              "  describe(Tensor) -> str\n"
                                              "  flip(bool) -> bool\n"
                                              "  half(float) -> float\n"
                                              "  key_of(Any) -> str\n"
                                              "  pick(Optional[int], int) -> int\n"
                                              "  repeat(str, int) -> str\n"
                                              "  same(Any) -> Any\n"
                                              "  scale(Tensor, float, Tensor) -> None\n"
                                              "  with_front(ffi.Shape, int) -> ffi.Shape\n"))
        << release;
    EXPECT_EQ(json.status, 0) << json.err;
    EXPECT_THAT(json.out, HasSubstr("\"signatures\": [\n    {\n      \"name\": \"add_one\",\n"
                                    "      \"signature\": \"add_one(int) -> int\",\n"
                                    "      \"doc\": \"Returns x + 1.\",\n"
                                    "      \"error\": null\n    },"))
        << release;
  }
}

TEST(InspectSignatures, AreCountedWhereNothingIsLoaded) {
  const Outcome text = run_gantry({"inspect", "tvm-ffi/0.1.15/typed_function.so"});
  const Outcome json = run_gantry({"inspect", "tvm-ffi/0.1.15/typed_function.so", "--json"});

  EXPECT_THAT(text.out, HasSubstr("\n  with_front\n  --signatures adds 11 signatures and 1 doc "
                                  "string, which code of the file returns\n"));
  EXPECT_THAT(json.out, ::testing::Not(HasSubstr("\"signatures\"")));
}

TEST(InspectSignatures, AreThoseOfLibrariesWithHeaders) {
  EXPECT_EQ(run_gantry({"inspect", "tvm-0.12/axpy2_c.so", "--signatures"}).err,
            "gantry: \"tvm-0.12/axpy2_c.so\" is a shared library without functions that tvm-ffi's "
            "C++ headers describe, so that --signatures has no effect\n");
}

TEST(InspectSignatures, AreRefusedIfNoReportIsPrinted) {
  const TempDir temp;

  const Outcome inspect = run_gantry({"inspect", "tvm-ffi/0.1.15/containers.so", "--signatures",
                                      "--extract", temp.path().string()});

  EXPECT_EQ(inspect.status, 1);
  EXPECT_EQ(inspect.err,
            "gantry: --extract without --json prints no report, so that --signatures has no "
            "effect\n");
}

// Its functions return small strings (11) and an integer (1).
TEST(InspectSignatures, OfHostileTextsAreReplacedByTheReason) {
  const TempDir temp;
  const std::string library = (temp / "f.so").string();
  write_file(temp / "f.c", R"(
    typedef struct { int type; unsigned size; char bytes[8]; } Value;
    #define FUNCTION(name, ...) \
      int __tvm_ffi_##name(void* self, const Value* args, int count, Value* result) { \
        const Value made = __VA_ARGS__; *result = made; return 0; }
    FUNCTION(f, {1})
    FUNCTION(_metadata_f, {11, 1, "{"})
    FUNCTION(_doc_f, {11, 6, "a\n\033[0m"})
    FUNCTION(g, {1})
    FUNCTION(_metadata_g, {1})
    FUNCTION(_doc_g, {1})
  )");
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + library + " " + (temp / "f.c").string()).c_str()),
            0);

  const Outcome inspect = run_gantry({"inspect", library, "--signatures"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out,
              HasSubstr("\n  f  signature not known: metadata is not JSON: ends after \"{\""));
  EXPECT_THAT(inspect.out,
              HasSubstr("\n      a\n      \\x1b[0m\n  g  signature not known: value is "));
  EXPECT_THAT(inspect.out, HasSubstr("; doc string not known: value is "));
}

TEST(InspectSignatures, EndWithTheProcessThatRunsTheCode) {
  const TempDir temp;
  const std::string library = (temp / "f.so").string();
  write_file(temp / "f.c",
             "#include <stdlib.h>\n"
             "int __tvm_ffi_f(void) { return 0; }\n"
             "int __tvm_ffi__metadata_f(void) { abort(); }\n");
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + library + " " + (temp / "f.c").string()).c_str()),
            0);

  const Outcome inspect = run_gantry({"inspect", library, "--signatures"});

  EXPECT_EQ(inspect.status, 1);
  EXPECT_THAT(inspect.out, IsEmpty());
  EXPECT_THAT(inspect.err, HasSubstr("the code of the file ended the process by signal 6"));
  EXPECT_THAT(inspect.err, HasSubstr("required by --signatures, which runs code of the file"));
}

// tests/golden/aot/usmp.c
TEST(InspectAheadOfTime, ShowsTensorsPoolsAndConstants) {
  const Outcome inspect = run_gantry({"inspect", build_tree() / "tests/aot/usmp.so"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("\n  input       x  float32[1, 4]\n"
                                     "  output      y  float32[1, 4]\n"));
  EXPECT_THAT(inspect.out, HasSubstr("\n  function  tvmgen_usmp___tvm_main__\n"
                                     "  inputs (1)\n    x  float32[1, 4], 16 B\n"
                                     "  outputs (1)\n    y  float32[1, 4], 16 B\n"
                                     "  pools (2)\n    global_workspace  uint8[64], 64 B\n"
                                     "    sram  uint8[16], 16 B\n"
                                     "  constants (2)\n    c_0  float32[2], 8 B\n"
                                     "    c_1  float32[2], 8 B\n"));
}

TEST(InspectAheadOfTime, GuessesNothingIfSeveralDescriptionsMatch) {
  const Outcome inspect = run_gantry({"inspect", build_tree() / "tests/aot/usmp_two.so"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("\n  inputs  known when loaded\n"
                                     "  outputs  known when loaded\n"
                                     "  pools  known when loaded\n"));
}

}  // namespace
}  // namespace gantry::test
