// SPDX-License-Identifier: Apache-2.0
//
// Files that commands write: their formats, streams, and inputs, which no command replaces.
#include "tests/golden/cli_command.hpp"
#include "tests/support/array_value.hpp"

#include <gantry/quoted.hpp>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

constexpr std::string_view add_source =
    "int add(void** args, const int* codes, int count) {\n"
    "  ((float**)args[1])[0][0] = ((float**)args[0])[0][0] + **(float**)args[2];\n"
    "  return (void)codes, count - 3;\n"
    "}\n";
constexpr std::string_view recipe =
    "schema: \"1.0\"\n"
    "sources: [add.c]\n"
    "flags: [-I.]\n"
    "graph:\n"
    "  inputs: {x: \"float32[1]\"}\n"
    "  operators: [{function: add, inputs: [x, w], outputs: {out: \"float32[1]\"}}]\n"
    "  outputs: [out]\n"
    "parameters:\n"
    "  w: {file: w.npy}\n"
    "device_modules:\n"
    "  - {type_key: acme, data: acme.bin}\n";

class OutputOfCommand : public ::testing::Test {
 protected:
  OutputOfCommand() {
    write_file(temp_ / "add.c", add_source);
    write_file(temp_ / "add.yaml", recipe);
    write_file(temp_ / "acme.bin", "payload");
    write_file(temp_ / "notes.txt", "no input, and no ELF file either");
    write_file(temp_ / "config.yaml", "threads: 1\n");
    fs::copy_file(golden("tvm-0.12/digits_mlp_c.so"), temp_ / "model.so");
    fs::copy_file(golden("tvm-0.12/digits_mlp.input.npz"), temp_ / "x.npz");
    fs::copy_file(golden("tvm-0.12/digits_mlp_c.expected.npz"), temp_ / "y.npz");
    write_file(temp_ / "w.npy",
               std::string("\x93NUMPY\x01\0\x3e\0", 10) +
                   "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }    \n" +
                   std::string("\0\0\x80\x3f", 4));
  }

  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // Runs the model with the graph plugin.
  Outcome run(Args more) const {
    Args args{"--plugins", built_plugins("graph"), "--config", path("config.yaml"),
              "run",       path("model.so"),       "--input",  "x=" + path("x.npz"),
              "--each"};
    args.insert(args.end(), more.begin(), more.end());
    return run_gantry(args);
  }
  void expect_outputs(const fs::path& file, std::string_view name) const {
    EXPECT_EQ(floats_in(file, name), floats_in(temp_ / "y.npz", "output"));
  }

  const TempDir temp_;
};

struct Refused {
  std::string name;
  Args command;
  // file that the command would replace
  std::string input;
};

class InputOfCommand : public OutputOfCommand, public ::testing::WithParamInterface<Refused> {};

// Arguments that begin with "@" are paths in the temporary directory.
TEST_P(InputOfCommand, IsNotReplaced) {
  const auto before = read_file(temp_ / GetParam().input);
  Args args{"--plugins", built_plugins("graph")};
  for (std::string arg : GetParam().command) {
    const std::size_t at = arg.find('@');
    args.push_back(at == arg.npos ? arg : arg.replace(at, 1, temp_.path().string() + "/"));
  }

  const Outcome outcome = run_gantry(args);

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, StartsWith("gantry: cannot write "));
  EXPECT_THAT(outcome.err, HasSubstr(": it is an input of this command"));
  EXPECT_EQ(read_file(temp_ / GetParam().input), before);
}

const Args run_model{"run", "@model.so", "--input", "x=@x.npz", "--each"};

Args run_with(Args more) {
  more.insert(more.begin(), run_model.begin(), run_model.end());
  return more;
}

INSTANTIATE_TEST_SUITE_P(
    Commands, InputOfCommand,
    ::testing::Values(
        Refused{"PackRecipe", {"pack", "@add.yaml", "-o", "@add.yaml"}, "add.yaml"},
        Refused{"PackSource", {"pack", "@add.yaml", "-o", "@add.c"}, "add.c"},
        Refused{"PackParameter", {"pack", "@add.yaml", "-o", "@w.npy"}, "w.npy"},
        Refused{"PackPayload", {"pack", "@add.yaml", "-o", "@acme.bin"}, "acme.bin"},
        Refused{"PackConfiguration",
                {"--config", "@config.yaml", "pack", "@add.yaml", "-o", "@config.yaml"},
                "config.yaml"},
        Refused{"RunInput", run_with({"--output", "@x.npz"}), "x.npz"},
        Refused{"RunExpected", run_with({"--expect", "@y.npz", "--output", "@y.npz"}), "y.npz"},
        Refused{"RunArgument",
                {"run", "@model.so", "--function", "f", "--arg", "@w.npy", "--output", "@w.npy"},
                "w.npy"},
        Refused{"RunTraceOverArtifact", run_with({"--trace", "@model.so"}), "model.so"},
        Refused{"RunTraceOverInput", run_with({"--trace", "@x.npz"}), "x.npz"},
        Refused{"RunTraceOverConfiguration",
                run_with({"--config", "@config.yaml", "--trace", "@config.yaml"}), "config.yaml"}),
    [](const auto& test) { return test.param.name; });

TEST_F(OutputOfCommand, PackReplacesOnlyElfFiles) {
  const auto notes = read_file(temp_ / "notes.txt");

  const Outcome first = run_gantry({"pack", path("add.yaml"), "-o", path("add.so")});
  const Outcome again = run_gantry({"pack", path("add.yaml"), "-o", path("add.so")});
  const Outcome other = run_gantry({"pack", path("add.yaml"), "-o", path("notes.txt")});

  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(other.err, "gantry: cannot write " + quoted(path("notes.txt")) +
                           ": it exists and is not an ELF file; remove it or choose another "
                           "output\n");
  EXPECT_EQ(read_file(temp_ / "notes.txt"), notes);
}

TEST_F(OutputOfCommand, InspectDoesNotExtractOverItsInput) {
  ASSERT_EQ(run_gantry({"inspect", path("model.so"), "--extract", path("out")}).status, 0);
  const std::string name = "out/0-GraphExecutorFactory.bin";
  fs::copy_file(temp_ / "model.so", temp_ / name, fs::copy_options::overwrite_existing);

  const Outcome outcome = run_gantry({"inspect", path(name), "--extract", path("out")});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr(": it is an input of this command"));
  EXPECT_EQ(read_file(temp_ / name), read_file(temp_ / "model.so"));
}

TEST_F(OutputOfCommand, RunWritesTheFormatOfTheSuffix) {
  ASSERT_EQ(run({"--output", path("out.npz")}).status, 0);
  ASSERT_EQ(run({"--output", path("out.npy")}).status, 0);

  expect_outputs(temp_ / "out.npz", "output");
  expect_outputs(temp_ / "out.npy", "");
}

TEST_F(OutputOfCommand, RunRefusesOtherSuffixesBeforeItStarts) {
  for (const std::string& name : {path("model.so"), path("out.txt"), path("out")}) {
    const Outcome outcome = run({"--output", name});

    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.err, "gantry: --output: " + quoted(name) +
                               " has the wrong suffix, expected FILE.npz, FILE.npy or - for "
                               "standard output\n  see: gantry run --help\n");
  }
}

TEST_F(OutputOfCommand, RunRefusesAnNpyFileForSeveralArrays) {
  const Outcome outcome = run_gantry({"run", "tvm-0.12/axpy2_c.so", "--function", "axpy2", "--arg",
                                      "zeros:float32[4]", "--arg", "zeros:float32[4]", "--arg",
                                      "zeros:float32[4]", "--output", path("out.npy")});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "gantry: the run has 3 outputs, the file " + quoted(path("out.npy")) +
                             " contains one; use the suffix .npz\n");
  EXPECT_FALSE(fs::exists(temp_ / "out.npy"));
}

TEST_F(OutputOfCommand, RunWritesToStandardOutputAndReportsOnStderr) {
  const Outcome arrays = run({"--output", "-"});
  const Outcome quiet = run({"--output", "-", "--quiet"});
  const Outcome trace = run({"--trace", "-"});

  ASSERT_EQ(arrays.status, 0) << arrays.err;
  write_file(temp_ / "received.npz", arrays.out);
  expect_outputs(temp_ / "received.npz", "output");
  EXPECT_THAT(arrays.err, StartsWith("output  float32[360, 1, 10]  "));
  EXPECT_EQ(quiet.out, arrays.out);
  EXPECT_THAT(quiet.err, IsEmpty());
  EXPECT_FALSE(nlohmann::json::parse(trace.out).empty());
  EXPECT_THAT(trace.err, StartsWith("output  float32[360, 1, 10]  "));
}

TEST_F(OutputOfCommand, RunRefusesTwoDocumentsOnStandardOutput) {
  for (const Args& two : {Args{"--output", "-", "--json"}, Args{"--output", "-", "--trace", "-"},
                          Args{"--json", "--trace", "-"}}) {
    const Outcome outcome = run(two);

    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(outcome.err,
              "gantry: standard output is used twice, by two of --output, --trace and --json\n");
  }
}

TEST_F(OutputOfCommand, RunWritesToAPipeAndToADevice) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::vector<std::uint8_t> received;
  std::thread reader([&] { received = read_file(temp_ / "pipe"); });

  const Outcome pipe = run({"--output", path("pipe")});
  reader.join();
  const Outcome null = run({"--output", "/dev/null", "--trace", "/dev/null"});

  EXPECT_EQ(pipe.status, 0) << pipe.err;
  EXPECT_TRUE(fs::is_fifo(temp_ / "pipe"));
  write_file(temp_ / "received.npz", received);
  expect_outputs(temp_ / "received.npz", "output");
  EXPECT_EQ(null.status, 0) << null.err;
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// Appends the paths of texts without characters, such as "/plugins/0/support".
void find_empty(const nlohmann::json& value, const std::string& path, Args& found) {
  if (value.is_string() && value.get<std::string>().empty()) found.push_back(path);
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      find_empty(value[i], path + "/" + std::to_string(i), found);
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) find_empty(member, path + "/" + key, found);
  }
}

class DocumentOfCommand : public OutputOfCommand, public ::testing::WithParamInterface<Args> {};

// What is absent is null.
TEST_P(DocumentOfCommand, HasNoTextWithoutCharacters) {
  Args args{"--plugins", built_plugins("graph")};
  for (std::string arg : GetParam()) {
    const std::size_t at = arg.find('@');
    args.push_back(at == arg.npos ? arg : arg.replace(at, 1, temp_.path().string() + "/"));
  }
  args.push_back("--json");

  const Outcome outcome = run_gantry(args);

  const nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << outcome.out << outcome.err;
  Args empty;
  find_empty(document, "", empty);
  EXPECT_THAT(empty, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Commands, DocumentOfCommand,
    ::testing::Values(Args{"inspect", "@model.so"}, Args{"inspect", "relax/lm_paged_llvm.so"},
                      Args{"inspect", "tvm-0.12/digits_mlp_opencl.so"}, run_with({"--print"}),
                      Args{"bench", "@model.so", "--repeat", "1"}, Args{"plugins", "list"},
                      Args{"plugins", "doctor"},
                      Args{"plugins", "doctor", "--probe", "--artifact", "@model.so"},
                      Args{"plugins", "doctor", "--artifact", "tvm-0.12/digits_mlp_opencl.so"},
                      Args{"plugins", "doctor", "--key", "acme.npu"},
                      Args{"plugins", "explain", "gantry.graph"},
                      Args{"plugins", "check", built_plugins("graph")}, Args{"plugins", "reasons"},
                      Args{"plugins", "lock"}, Args{"devices"}, Args{"targets"},
                      Args{"pack", "@add.yaml", "-o", "@add.so"},
                      Args{"repack", "@model.so", "-o", "@repacked.so"},
                      Args{"mlf", "show", "tvm-0.12/digits_cpp_graph_c.tar"}, Args{"version"}));

}  // namespace
}  // namespace gantry::test
