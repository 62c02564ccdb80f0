// SPDX-License-Identifier: Apache-2.0
//
// Exit statuses and error texts: one clear error on stderr, nothing on stdout.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include <sys/stat.h>

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

void expect_error(const Outcome& outcome, int status, const std::string& error) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, error);
}

struct WrongUsage {
  std::string name;
  std::vector<std::string> args;
  std::string error;
};

class Usage : public ::testing::TestWithParam<WrongUsage> {};

TEST_P(Usage, IsRejectedWithStatus2) {
  expect_error(run_gantry(GetParam().args), 2, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, Usage,
    ::testing::Values(
        WrongUsage{"NoCommand",
                   {"-q"},
                   "gantry: a command is required; commands: inspect, run, bench, report, plugins, "
                   "devices, targets, pack, repack, mlf, version, completion, help\n"
                   "  see: gantry --help\n"},
        WrongUsage{
            "NoFile", {"inspect"}, "gantry: FILE is required\n  see: gantry inspect --help\n"},
        WrongUsage{"UnknownOption",
                   {"inspect", "x.so", "--foo"},
                   "gantry: unknown option \"--foo\"\n  see: gantry inspect --help\n"},
        WrongUsage{"MistypedOption",
                   {"run", "--devcie", "cpu", "x.so"},
                   "gantry: unknown option \"--devcie\", did you mean \"--device\"\n"
                   "  see: gantry run --help\n"},
        WrongUsage{"MistypedOptionWithAValueBeforeTheFile",
                   {"run", "--repaet=3"},
                   "gantry: unknown option \"--repaet\", did you mean \"--repeat\"\n"
                   "  see: gantry run --help\n"},
        WrongUsage{"WrongLetter",
                   {"run", "-o", "y.npz", "x.so"},
                   "gantry: unknown option \"-o\"\n  see: gantry run --help\n"},
        WrongUsage{"MistypedGlobalOption",
                   {"plugins", "list", "--plugin", "x"},
                   "gantry: unknown option \"--plugin\", did you mean \"--plugins\"\n"
                   "  see: gantry plugins list --help\n"},
        WrongUsage{"MistypedOptionWithoutCommand",
                   {"--hepl"},
                   "gantry: unknown option \"--hepl\", did you mean \"--help\"\n"
                   "  see: gantry --help\n"},
        WrongUsage{"MistypedCommandAndOption",
                   {"isnpect", "--foo"},
                   "gantry: unknown command \"isnpect\", did you mean \"inspect\"\n"
                   "  see: gantry --help\n"},
        WrongUsage{"ArgumentTooMany",
                   {"inspect", "x.so", "y.so"},
                   "gantry: unexpected argument \"y.so\"\n  see: gantry inspect --help\n"},
        WrongUsage{"UnknownShell",
                   {"completion", "tcsh"},
                   "gantry: SHELL: tcsh not in {bash,zsh,fish}\n  see: gantry completion --help\n"},
        WrongUsage{"UnknownTreeForm",
                   {"inspect", "--tree", "svg", "x.so"},
                   "gantry: --tree: svg not in {text,dot,mermaid}\n"
                   "  see: gantry inspect --help\n"},
        WrongUsage{"ArgWithoutFunction",
                   {"run", "x.so", "--arg", "int:3"},
                   "gantry: --arg requires --function\n  see: gantry run --help\n"},
        WrongUsage{"BadArg",
                   {"run", "x.so", "--function", "f", "--arg", "int:x"},
                   "gantry: --arg: argument \"int:x\": \"x\" is not a 64-bit integer\n"
                   "  see: gantry run --help\n"},
        WrongUsage{
            "BadInput",
            {"run", "x.so", "--input", "x.bin"},
            "gantry: --input: input \"x.bin\" has an unknown form, expected NAME=FILE.npy, "
            "NAME=FILE.npz:MEMBER, NAME=zeros, NAME=ones, NAME=random:SEED:LOW:HIGH, NAME=1,2,3, "
            "NAME=@FILE, or without NAME= FILE.npz or a word for all inputs\n"
            "  see: gantry run --help\n"},
        WrongUsage{"ToleranceWithoutExpect",
                   {"run", "x.so", "--rtol", "1e-3"},
                   "gantry: --rtol requires --expect\n  see: gantry run --help\n"},
        WrongUsage{"MistypedCommand",
                   {"isnpect", "x.so"},
                   "gantry: unknown command \"isnpect\", did you mean \"inspect\"\n"
                   "  see: gantry --help\n"},
        WrongUsage{
            "UnknownCommand",
            {"explain"},
            "gantry: unknown command \"explain\"; commands: inspect, run, bench, report, plugins, "
            "devices, targets, pack, repack, mlf, version, completion, help\n"
            "  see: gantry --help\n"},
        WrongUsage{
            "UnknownCommandOfPlugins",
            {"plugins", "frobnicate"},
            "gantry: unknown command \"frobnicate\"; commands: list, doctor, install, remove, "
            "new, explain, reasons, check, lock, verify, clear\n"
            "  see: gantry plugins --help\n"},
        WrongUsage{"UnknownOptionWithoutCommand",
                   {"--foo"},
                   "gantry: unknown option \"--foo\"\n  see: gantry --help\n"},
        WrongUsage{"GlobalOption",
                   {"inspect", "x.so", "--threads", "0"},
                   "gantry: --threads: is \"0\", expected a number from 1 to 1024\n"
                   "  see: gantry inspect --help\n"},
        WrongUsage{"GlobalOptionAboveItsRange",
                   {"--spin-us", "1000001", "inspect", "x.so"},
                   "gantry: --spin-us: is \"1000001\", expected a number from 0 to 1000000\n"
                   "  see: gantry inspect --help\n"},
        WrongUsage{
            "EmptyFile", {"inspect", ""}, "gantry: FILE: is empty\n  see: gantry inspect --help\n"},
        WrongUsage{
            "EmptyFileToRun", {"run", ""}, "gantry: FILE: is empty\n  see: gantry run --help\n"},
        WrongUsage{"EmptyFileToBench",
                   {"bench", ""},
                   "gantry: FILE: is empty\n  see: gantry bench --help\n"},
        WrongUsage{"EmptyRecipe",
                   {"pack", "", "-o", "x.so"},
                   "gantry: RECIPE: is empty\n  see: gantry pack --help\n"},
        WrongUsage{"EmptyPluginDirectory",
                   {"--plugins", "", "devices"},
                   "gantry: --plugins: is empty\n  see: gantry devices --help\n"},
        WrongUsage{"NanTolerance",
                   {"run", "x.so", "--expect", "y.npz", "--rtol", "nan"},
                   "gantry: --rtol: tolerance is \"nan\", expected a finite number >= 0\n"
                   "  see: gantry run --help\n"},
        WrongUsage{"NegativeTolerance",
                   {"run", "x.so", "--expect", "y.npz", "--atol", "-1e-3"},
                   "gantry: --atol: tolerance is \"-1e-3\", expected a finite number >= 0\n"
                   "  see: gantry run --help\n"},
        WrongUsage{"InfiniteTolerance",
                   {"run", "x.so", "--expect", "y.npz", "--atol", "inf"},
                   "gantry: --atol: tolerance is \"inf\", expected a finite number >= 0\n"
                   "  see: gantry run --help\n"},
        WrongUsage{
            "PluginsAlone",
            {"plugins"},
            "gantry: a command is required; commands: list, doctor, install, remove, new, explain, "
            "reasons, check, lock, verify, clear\n  see: gantry plugins --help\n"},
        WrongUsage{"TreeAndJson",
                   {"inspect", "--tree", "dot", "--json", "x.so"},
                   "gantry: --tree excludes --json\n  see: gantry inspect --help\n"}),
    [](const auto& test) { return test.param.name; });

TEST(Help, IsPrintedToStdoutWithStatus0) {
  for (const char* command : {"inspect", "run", "bench", "plugins", "devices", "targets", "pack",
                              "repack", "version", "completion"}) {
    const Outcome help = run_gantry({command, "--help"});

    EXPECT_EQ(help.status, 0) << command;
    EXPECT_THAT(help.err, IsEmpty()) << command;
    EXPECT_THAT(help.out, HasSubstr(std::string(":\n  gantry ") + command)) << command;
  }
}

TEST(Version, IsAlsoAnOption) {
  const Outcome version = run_gantry({"--version"});

  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.err, IsEmpty());
  EXPECT_EQ(version.out, run_gantry({"version"}).out);
}

TEST(Stdout, IsReportedWhenTheDeviceIsFull) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"--help"}, {"--version"}, {"inspect", "--help"}, {"version"}}) {
    const Outcome outcome = run_gantry_into("/dev/full", args);

    EXPECT_EQ(outcome.status, 1) << args.front();
    EXPECT_EQ(outcome.err, "gantry: cannot write to stdout: No space left on device\n")
        << args.front();
  }
}

TEST(InspectRejects, AMissingFile) {
  expect_error(run_gantry({"inspect", "no/such.so"}), 1, "gantry: no/such.so does not exist\n");
}

TEST(InspectRejects, ADirectoryWithoutWeights) {
  expect_error(run_gantry({"inspect", "tvm-0.12"}), 1,
               "gantry: \"tvm-0.12\" has no index of weights, expected a directory with "
               "tensor-cache.json or ndarray-cache.json\n");
}

TEST(InspectRejects, AFifoWithoutBlocking) {
  const TempDir temp;
  const std::string fifo = (temp / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);

  expect_error(run_gantry({"inspect", fifo}), 1,
               "gantry: " + fifo + " is a FIFO, not a regular file\n");
}

TEST(InspectRejects, AnEmptyFile) {
  const TempDir temp;
  write_file(temp / "empty", "");
  const std::string path = (temp / "empty").string();

  expect_error(run_gantry({"inspect", path}), 1, "gantry: " + path + " is empty (offset 0x0)\n");
}

// As loading it does.
TEST(InspectRejects, ATextFileWithItsFirstLine) {
  const TempDir temp;
  write_file(temp / "model.so", "\n  name: digits\nlayers: 3\n");
  const std::string path = (temp / "model.so").string();

  const std::string refusal =
      "gantry: \"" + path +
      "\" is text that begins with \"name: digits\"; expected a shared "
      "library, an object file, an archive, a bare container or a parameter "
      "file\n";
  expect_error(run_gantry({"inspect", path}), 1, refusal);
  expect_error(run_gantry({"run", path}), 1, refusal + "  while loading " + path + "\n");
}

TEST(InspectRejects, ATruncatedLibrary) {
  const TempDir temp;
  const auto whole = read_file(golden("tvm-0.12/axpy2_opencl.so"));
  write_file(temp / "cut.so", std::span(whole).first(8192));

  const Outcome inspect = run_gantry({"inspect", (temp / "cut.so").string()});

  EXPECT_EQ(inspect.status, 1);
  EXPECT_THAT(inspect.out, IsEmpty());
  EXPECT_THAT(inspect.err, StartsWith("gantry: "));
  EXPECT_THAT(inspect.err, HasSubstr("file ends at 0x2000 (offset 0x2000)\n  in \""));
}

TEST(FileNames, AreEscapedInErrors) {
  const TempDir temp;
  write_file(temp / "x\x1b[31m", "text");

  const Outcome inspect = run_gantry({"inspect", (temp / "x\x1b[31m").string()});

  EXPECT_EQ(inspect.status, 1);
  EXPECT_EQ(inspect.err.find('\x1b'), std::string::npos);
}

struct OtherFile {
  std::string name;
  std::vector<std::string> command;
};

class OtherFileOfCommand : public ::testing::TestWithParam<OtherFile> {};

// "FILE" stands for a file that begins as an ONNX model does.
TEST_P(OtherFileOfCommand, IsRecognized) {
  const TempDir temp;
  write_file(temp / "model.onnx", "\x08\x07\x12\x07pytorch\x1a\x05");
  std::vector<std::string> args = GetParam().command;
  for (std::string& arg : args) {
    if (arg.ends_with("FILE")) arg.replace(arg.size() - 4, 4, (temp / "model.onnx").string());
  }

  const Outcome outcome = run_gantry(args);

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("an ONNX model"));
  EXPECT_THAT(outcome.err, HasSubstr("compile it to a shared library"));
}

INSTANTIATE_TEST_SUITE_P(
    Commands, OtherFileOfCommand,
    ::testing::Values(OtherFile{"Inspect", {"inspect", "FILE"}}, OtherFile{"Run", {"run", "FILE"}},
                      OtherFile{"Expected", {"run", "no-such.so", "--expect", "FILE"}},
                      OtherFile{"Bench", {"bench", "FILE"}},
                      OtherFile{"Doctor", {"plugins", "doctor", "--artifact", "FILE"}},
                      OtherFile{"Pack", {"pack", "FILE", "-o", "/tmp/no-such.so"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry::test
