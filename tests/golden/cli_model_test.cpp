// SPDX-License-Identifier: Apache-2.0
//
// Packed models with other names than "default", and the compiler that packing runs.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/arrays/npy.hpp"

#include <gmock/gmock.h>

#include <array>
#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

Outcome with_graph(Args args) {
  args.insert(args.begin(), {"--plugins", built_plugins() + "/graph"});
  return run_gantry(args);
}

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
  Outcome pack(std::string_view recipe, const Args& environment = {}) const {
    return run_gantry({"pack", path(recipe), "-o", path("model.so")}, environment);
  }

  const TempDir temp_;
};

TEST_F(Model, RunsUnderAnyName) {
  constexpr gantry_dtype float32{2, 32, 1};
  const std::array<std::int64_t, 1> shape{3};
  const std::array<float, 3> x{1, 2.5, -3};
  const std::span data(reinterpret_cast<const std::uint8_t*>(x.data()), sizeof x);
  write_file(temp_ / "x.npy", npy_bytes(float32, shape, data).value());
  ASSERT_EQ(pack("twice.yaml").status, 0);

  const Outcome run = with_graph({"run", path("model.so"), "--input", "x=" + path("x.npy")});
  const Outcome bench = with_graph({"bench", path("model.so"), "--repeat", "2"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("output  float32[3]  2 5 -6\n"));
  EXPECT_EQ(bench.status, 0);
  EXPECT_THAT(bench.err, IsEmpty());
  EXPECT_THAT(bench.out, HasSubstr("operators (1)\n"));
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
  EXPECT_EQ(
      run.err,
      "gantry: the file contains 2 models, \"digits\", \"letter\"; none is named \"default\"\n"
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
  EXPECT_THAT(packed.err, HasSubstr("cannot write \"" + path("temporary/gantry-pack.so") + "\""));
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, IsEmpty());
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
