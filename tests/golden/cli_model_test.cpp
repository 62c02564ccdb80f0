// SPDX-License-Identifier: Apache-2.0
//
// Packed models with other names than "default", and the compiler that packing runs.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"

#include "core/formats/arrays/npy.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

// out = 2 * x; a tensor's first member is its data pointer.
constexpr std::string_view twice_source =
    "int twice(void** args, const int* codes, int count) {\n"
    "  const float* x = *(float**)args[0];\n"
    "  float* out = *(float**)args[1];\n"
    "  for (int i = 0; i < 3; ++i) out[i] = 2 * x[i];\n"
    "  return (void)codes, count - 2;\n"
    "}\n";

constexpr std::string_view twice_recipe =
    "schema: \"1.0\"\n"
    "name: digits\n"
    "sources: [twice.c]\n"
    "graph:\n"
    "  inputs: {x: \"float32[3]\"}\n"
    "  operators: [{function: twice, inputs: [x], outputs: {out: \"float32[3]\"}}]\n"
    "  outputs: [out]\n";

constexpr gantry_dtype float32{2, 32, 1};

std::string text_in(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

class Model : public ::testing::Test {
 protected:
  Model() {
    write_file(temp_ / "twice.c", twice_source);
    write_file(temp_ / "twice.yaml", twice_recipe);
  }

  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // Writes three numbers to an .npy file and returns its path.
  std::string floats(std::string_view name, const std::array<float, 3>& values) const {
    const std::array<std::int64_t, 1> shape{3};
    const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), sizeof values);
    write_file(temp_ / name, npy_bytes(float32, shape, data).value());
    return path(name);
  }
  Outcome pack(std::string_view recipe, const Args& environment = {}) const {
    return run_gantry({"pack", path(recipe), "-o", path("model.so")}, environment);
  }

  const TempDir temp_;
};

TEST_F(Model, RunsUnderAnyName) {
  const std::string x = floats("x.npy", {1, 2.5, -3});
  ASSERT_EQ(pack("twice.yaml").status, 0);

  const Outcome run = with_graph({"run", path("model.so"), "--input", "x=" + x});
  const Outcome bench = with_graph({"bench", path("model.so"), "--repeat", "2"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("out  float32[3]  2 5 -6\n"));
  EXPECT_EQ(bench.status, 0);
  EXPECT_THAT(bench.err, IsEmpty());
  EXPECT_THAT(bench.out, HasSubstr("operators (2)\n"));
}

// One weight, "x" of float32[3] with the bytes 1 to 12.
TEST_F(Model, HasItsWeightsAsInputs) {
  if (!std::filesystem::exists(built_plugins("relax")))
    GTEST_SKIP() << "gantry.relax loads weights";
  ASSERT_EQ(pack("twice.yaml").status, 0);
  write_weights(temp_ / "w", replaced(small_index, R"("name": "a")", R"("name": "x")"));
  const auto with_weights = [&](Args args) {
    args.insert(args.begin(), {"--plugins", built_plugins("relax")});
    args.insert(args.end(), {"--weights", path("w")});
    return with_graph(args);
  };

  const Outcome run = with_weights({"run", path("model.so")});
  const Outcome bench = with_weights({"bench", path("model.so"), "--repeat", "2"});
  const Outcome each = with_weights({"run", path("model.so"), "--each"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("out  float32[3]  3.0799792e-36 "));
  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_THAT(bench.out, HasSubstr("operators (2)\n"));
  EXPECT_EQ(each.status, 1);
  EXPECT_THAT(each.err, StartsWith("gantry: the model has no input from a file, --each requires "
                                   "one\n  inputs of the model: x float32[3]\n"));
}

TEST_F(Model, KeepsTheNamesOfItsOutputs) {
  ASSERT_EQ(pack("twice.yaml").status, 0);
  const auto run_with = [&](Args more) {
    Args args{"run", path("model.so"), "--input", "x=" + floats("x.npy", {1, 2.5, -3})};
    args.insert(args.end(), more.begin(), more.end());
    return with_graph(args);
  };

  const Outcome inspect = run_gantry({"inspect", path("model.so")});
  const Outcome run = run_with({"--output", path("out.npz")});
  const Outcome again = run_with({"--expect", path("out.npz")});

  EXPECT_THAT(inspect.out, HasSubstr("  output      out  float32[3]\n"));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(text_in(temp_ / "out.npz"), HasSubstr("out.npy"));
  EXPECT_EQ(again.status, 0) << again.err;
}

// The graph of an artifact, which a recipe names as a file.
TEST_F(Model, KeepsTheNamesOfItsOutputsWhenItsGraphIsPackedAgain) {
  ASSERT_EQ(pack("twice.yaml").status, 0);
  ASSERT_EQ(run_gantry({"inspect", path("model.so"), "--extract", path("out")}).status, 0);
  const std::string payload = text_in(temp_ / "out/0-GraphExecutorFactory.bin");
  std::uint64_t length = 0;
  std::memcpy(&length, payload.data(), sizeof length);
  write_file(temp_ / "graph.json", payload.substr(sizeof length, length));
  write_file(temp_ / "again.yaml",
             "schema: \"1.0\"\nsources: [twice.c]\ngraph: {file: graph.json}\n");
  ASSERT_EQ(pack("again.yaml").status, 0);

  const Outcome run =
      with_graph({"run", path("model.so"), "--input", "x=" + floats("x.npy", {1, 2.5, -3})});

  EXPECT_THAT(run.out, StartsWith("out  float32[3]  2 5 -6\n")) << run.err;
}

// An artifact of TVM for the same model names its output "output".
TEST_F(Model, IsComparedByPositionWithArraysThatAreNumbered) {
  ASSERT_EQ(pack("twice.yaml").status, 0);
  const auto expect = [&](std::string_view name, const std::vector<float>& values) {
    const std::array<std::int64_t, 1> shape{3};
    const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), 12);
    const NpzItem item{name, float32, shape, data};
    EXPECT_TRUE(test::write_npz(temp_ / "expected.npz", std::span(&item, 1)).ok());
    return with_graph({"run", path("model.so"), "--input", "x=" + floats("x.npy", {1, 2.5, -3}),
                       "--expect", path("expected.npz")});
  };

  EXPECT_EQ(expect("output", {2, 5, -6}).status, 0);
  EXPECT_THAT(expect("output", {2, 5, 6}).err, HasSubstr("\"out\" differs at [2]"));
  EXPECT_THAT(expect("other", {2, 5, -6}).err, HasSubstr("\"out\" is not expected"));
}

// A library with the payloads of two models, neither named "default".
TEST_F(Model, IsNotChosenFromSeveral) {
  ASSERT_EQ(pack("twice.yaml").status, 0);
  ASSERT_EQ(run_gantry({"inspect", path("model.so"), "--extract", path("out")}).status, 0);
  std::string payload = text_in(temp_ / "out/0-GraphExecutorFactory.bin");
  write_file(temp_ / "a.bin", payload);
  payload.replace(payload.rfind("digits"), 6, "letter");
  write_file(temp_ / "b.bin", payload);
  write_file(temp_ / "two.yaml",
             "schema: \"1.0\"\n"
             "sources: [twice.c]\n"
             "device_modules:\n"
             "  - {type_key: GraphExecutorFactory, data: a.bin}\n"
             "  - {type_key: GraphExecutorFactory, data: b.bin}\n");
  ASSERT_EQ(pack("two.yaml").status, 0);

  const Outcome run = with_graph({"run", path("model.so")});

  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err,
            "gantry: the model has 2 functions and no default; one must be named\n"
            "  digits(x)\n"
            "  letter(x)\n"
            "  --function NAME selects one\n"
            "  while running \"" +
                path("model.so") + "\"\n");
}

// CC is split at blanks, as make and CMake do: a program and its first arguments.
TEST_F(Model, IsCompiledWithTheProgramAndArgumentsInCc) {
  write_file(temp_ / "stand-in.sh", "echo \"$1\" > '" + path("log") + "'\nshift\nexec cc \"$@\"\n");

  const Outcome packed = pack("twice.yaml", {"CC=  sh " + path("stand-in.sh") + "  --first-word "});

  EXPECT_EQ(packed.status, 0) << packed.err;
  EXPECT_EQ(text_in(temp_ / "log"), "--first-word\n");
}

TEST_F(Model, IsCompiledWithTheDefaultCompilerIfCcIsBlank) {
  EXPECT_EQ(pack("twice.yaml", {"CC= "}).status, 0);
}

TEST_F(Model, IsWrittenToStandardOutput) {
  ASSERT_EQ(pack("twice.yaml").status, 0);

  const Outcome packed =
      run_gantry({"pack", path("twice.yaml"), "-o", "-"}, {"TMPDIR=" + path("temporary")});
  std::filesystem::create_directory(temp_ / "temporary");
  const Outcome again =
      run_gantry({"pack", path("twice.yaml"), "-o", "-"}, {"TMPDIR=" + path("temporary")});

  EXPECT_EQ(packed.status, 1);
  EXPECT_THAT(packed.err, HasSubstr("no directory for temporary files can be created in \"" +
                                    path("temporary") + "\""));
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, StartsWith("gantry: wrote standard output: "));
  EXPECT_EQ(again.out, text_in(temp_ / "model.so"));
  EXPECT_TRUE(std::filesystem::is_empty(temp_ / "temporary"));
}

TEST_F(Model, IsNotWrittenToATerminal) {
  const Outcome packed = run_gantry_on_terminal({"pack", path("twice.yaml"), "-o", "-"});

  EXPECT_EQ(packed.status, 1);
  EXPECT_EQ(packed.out,
            "gantry: cannot write \"-\": it is a terminal; redirect it, or name a file\r\n");
}

TEST_F(Model, IsNotReplacedByATraceOnStandardOutput) {
  ASSERT_EQ(pack("twice.yaml").status, 0);
  const std::string before = text_in(temp_ / "model.so");

  const Outcome run = run_gantry_into(path("model.so"), {"run", path("model.so"), "--trace", "-"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: cannot write \"-\": it is an input of this command"));
  EXPECT_EQ(text_in(temp_ / "model.so"), before);
}

}  // namespace
}  // namespace gantry::test
