// SPDX-License-Identifier: Apache-2.0
//
// Options of every sub-command, and output to a terminal.
#include "tests/golden/cli_command.hpp"
#include "tests/support/changed_elf.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

constexpr const char* model = "tvm-0.12/digits_mlp_c.so";
constexpr const char* escape = "\x1b";

Args with_graph(Args args) {
  args.insert(args.begin(), {"--plugins", built_plugins("graph")});
  return args;
}

const Args run_model{"run", model, "--input", "x=tvm-0.12/digits_mlp.input.npz", "--each"};

// A function that uses none of the modules that have no plugin.
const Args run_beside_missing{"run",
                              "tvm-0.12/digits_mlp_dnnl.so",
                              "--allow-missing",
                              "--function",
                              "tvmgen_default_fused_add",
                              "--arg",
                              "zeros:float32[1, 64]",
                              "--arg",
                              "zeros:float32[64]",
                              "--arg",
                              "zeros:float32[1, 64]"};

TEST(Config, SetsPluginDirectories) {
  const TempDir temp;
  write_file(temp / "runtime.yaml", "plugins:\n  dirs: [" + built_plugins("graph") + "]\n");
  Args args = run_model;
  args.insert(args.end(), {"--config", (temp / "runtime.yaml").string()});

  const Outcome run = run_gantry(args);

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST(Config, MustExist) {
  const Outcome run = run_gantry({"--config", "no-such.yaml", "inspect", model});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("no-such.yaml"));
}

TEST(Device, IsAcceptedBeforeTheFileAndRepeatedly) {
  const Outcome run = run_gantry({"run", "--device", "cpu", "--device", "cpu:0", model, "--input",
                                  "x=tvm-0.12/digits_mlp.input.npz", "--each", "--plugins",
                                  built_plugins("graph")});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST(Device, ThatDoesNotExistIsReportedWithoutFurtherAdvice) {
  const Outcome run = run_gantry(with_graph({"run", model, "--device", "cpu:1"}));

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: device \"cpu:1\" not found; cpu has 1 device\n"));
  EXPECT_THAT(run.err, Not(HasSubstr("--function")));
}

TEST(AllowExecutableStack, RunsALibraryThatIsRefusedOtherwise) {
  const TempDir temp;
  auto library = read_file(golden(model));
  make_stack_executable(library);
  write_file(temp / "stack.so", library);
  Args args = with_graph(run_model);
  args[3] = (temp / "stack.so").string();

  const Outcome refused = run_gantry(args);
  args.emplace_back("--allow-executable-stack");
  const Outcome allowed = run_gantry(args);

  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr(" requires an executable stack: "));
  // glibc 2.41 refuses it.
  const bool is_of_linker = allowed.err.find("executable stack") != std::string::npos;
  EXPECT_TRUE(allowed.status == 0 || is_of_linker) << allowed.err;
}

TEST(AllowMissing, RunsAFunctionThatUsesNoMissingModule) {
  const Outcome run = run_gantry(run_beside_missing);

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("arg0  float32[1, 64]  0 0 0 0 0 0 0 0 ...\n"));
  EXPECT_THAT(run.err, StartsWith("gantry: warning: "));
}

TEST(Quiet, KeepsResultsAndSuppressesWarnings) {
  Args args = run_beside_missing;
  args.push_back("-q");

  const Outcome loud = run_gantry(run_beside_missing);
  const Outcome quiet = run_gantry(args);

  EXPECT_EQ(quiet.status, 0);
  EXPECT_THAT(quiet.err, IsEmpty());
  // the text before the times
  const auto results = loud.out.substr(0, loud.out.find(" run, "));
  EXPECT_THAT(quiet.out, StartsWith(results));
}

TEST(Quiet, KeepsErrors) {
  EXPECT_EQ(run_gantry({"-q", "inspect", "no/such.so"}).err, "gantry: no/such.so does not exist\n");
}

// A successful load is logged at level info.
TEST(Log, WritesLinesOfItsLevelToStderr) {
  const Args run = with_graph(run_model);
  const auto error_of = [&](Args more) {
    more.insert(more.begin(), run.begin(), run.end());
    return run_gantry(more).err;
  };
  const std::string loaded = "loaded " + std::string(model);

  EXPECT_THAT(error_of({}), IsEmpty());
  EXPECT_THAT(error_of({"--log", "warning"}), IsEmpty());
  EXPECT_THAT(error_of({"--log", "info"}), HasSubstr(loaded));
  EXPECT_THAT(error_of({"-v"}), HasSubstr(loaded));
  EXPECT_THAT(error_of({"-v", "-v"}), HasSubstr(loaded));
  EXPECT_THAT(error_of({"-v", "-q"}), IsEmpty());
}

TEST(Log, RejectsUnknownLevels) {
  EXPECT_EQ(
      run_gantry({"--log", "loud", "version"}).err,
      "gantry: --log: loud not in {error,warning,info,debug}\n  see: gantry version --help\n");
}

TEST(Help, OfEveryCommandListsTheGlobalOptions) {
  for (const Args& command : {Args{}, Args{"inspect"}, Args{"run"}, Args{"bench"}, Args{"plugins"},
                              Args{"plugins", "list"}, Args{"plugins", "doctor"}, Args{"devices"},
                              Args{"pack"}, Args{"version"}, Args{"help"}}) {
    Args args = command;
    args.push_back("--help");

    const std::string help = run_gantry(args).out;

    for (const char* option :
         {"--config", "--plugins", "--threads", "--spin-us", "--log", "-v ", "-q,--quiet"}) {
      EXPECT_THAT(help, HasSubstr(std::string("  ") + option)) << help;
    }
  }
}

TEST(Help, IsAlsoACommand) {
  const auto same = [](const Args& help, const Args& option) {
    const Outcome outcome = run_gantry(help);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.out, run_gantry(option).out);
  };

  same({}, {"--help"});
  same({"help"}, {"--help"});
  same({"help", "plugins", "ls"}, {"plugins", "list", "--help"});
  same({"help", "run"}, {"run", "--help"});
  same({"help", "plugins", "doctor"}, {"plugins", "doctor", "--help"});
  same({"-V"}, {"version"});
}

TEST(Help, StatesExitStatusesAndRequiredOptionsButNotExclusions) {
  const std::string help = run_gantry({"run", "--help"}).out;

  EXPECT_THAT(help, HasSubstr("\nExit status:\n  0   success\n  1   the command failed\n"));
  EXPECT_THAT(help, HasSubstr("the parameters of --graph; requires --graph\n"));
  EXPECT_THAT(help, Not(HasSubstr("xcludes")));
  EXPECT_THAT(run_gantry({"pack", "--help"}).out, HasSubstr("; default g3\n"));
}

TEST(Help, OfAnUnknownCommandNamesTheNearest) {
  const Outcome near = run_gantry({"help", "rnu"});
  const Outcome below = run_gantry({"help", "plugins", "frobnicate"});

  EXPECT_EQ(near.status, 2);
  EXPECT_EQ(near.err,
            "gantry: unknown command \"rnu\", did you mean \"run\"\n  see: gantry help --help\n");
  EXPECT_THAT(below.err,
              StartsWith("gantry: unknown command \"frobnicate\"; commands: list, doctor, "));
  EXPECT_THAT(below.err, EndsWith("\n  see: gantry help --help\n"));
}

TEST(Plugins, ThatNameNoManifestAreReported) {
  const TempDir temp;
  const Args inspect{"inspect", model, "--plugins", temp.path().string(), "--plugins", "no/such"};
  Args quiet = inspect;
  quiet.push_back("-q");

  const Outcome outcome = run_gantry(inspect);

  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("gantry: warning: --plugins " + temp.path().string() +
                                     ": the directory has no manifest of a plugin\n"));
  EXPECT_THAT(outcome.err, HasSubstr("no/such: no such directory\n"));
  EXPECT_THAT(run_gantry(quiet).err, IsEmpty());
  EXPECT_THAT(run_gantry(with_graph({"inspect", model})).err, IsEmpty());
}

TEST(InspectOption, WithoutEffectOnTheFileIsRefused) {
  const TempDir temp;
  for (const Args& option : {Args{"--tree", "text"}, Args{"--extract", (temp / "out").string()}}) {
    Args args{"inspect", "tvm-0.12/resnet20.input.npz"};
    args.insert(args.end(), option.begin(), option.end());

    const Outcome outcome = run_gantry(args);

    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(outcome.err,
              "gantry: \"tvm-0.12/resnet20.input.npz\" is an archive of NumPy arrays without "
              "modules, so that " +
                  option.front() + " has no effect\n");
  }
  EXPECT_FALSE(std::filesystem::exists(temp / "out"));
}

TEST(Colour, IsUsedOnTerminalsOnly) {
  const Args inspect{"inspect", model};

  EXPECT_THAT(run_gantry_on_terminal(inspect, {"TERM=xterm"}).out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(run_gantry(inspect, {"TERM=xterm"}).out, Not(HasSubstr(escape)));
}

TEST(Colour, IsDisabledByNoColorAndDumbTerminals) {
  const Args inspect{"inspect", model};
  std::string plain = run_gantry(inspect).out;

  const Outcome no_color = run_gantry_on_terminal(inspect, {"TERM=xterm", "NO_COLOR=1"});
  const Outcome dumb = run_gantry_on_terminal(inspect, {"TERM=dumb"});

  EXPECT_EQ(no_color.status, 0);
  EXPECT_THAT(no_color.out, Not(HasSubstr(escape)));
  EXPECT_THAT(no_color.out, HasSubstr("modules (2)\r\n"));
  EXPECT_EQ(dumb.out, no_color.out);
}

// The calls take about a second; the bar appears after half a second.
const Args long_run{"run",   "tvm-0.12/axpy2_c.so",   "--function", "axpy2",
                    "--arg", "zeros:float32[262144]", "--arg",      "zeros:float32[262144]",
                    "--arg", "zeros:float32[262144]", "--repeat",   "5000"};

TEST(Progress, OfAFunctionIsShownAndErasedWithoutEscapeCodes) {
  const Outcome run = run_gantry_on_terminal(long_run, {"TERM=dumb"});

  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("\rrun ["));
  EXPECT_THAT(run.out, HasSubstr(std::string(40, ' ') + "\rarg0  "));
  EXPECT_THAT(run.out, Not(HasSubstr(escape)));
}

TEST(Progress, IsSuppressedByQuiet) {
  Args args = long_run;
  args.push_back("--quiet");

  EXPECT_THAT(run_gantry_on_terminal(args, {"TERM=xterm"}).out, StartsWith("arg0  "));
}

TEST(Pack, ShowsItsStepsAndErasesThemWithoutEscapeCodes) {
  const TempDir temp;
  write_file(temp / "f.c", "int f(void) { return 0; }\n");
  write_file(temp / "f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");

  const Outcome pack = run_gantry_on_terminal(
      {"pack", (temp / "f.yaml").string(), "-o", (temp / "f.so").string()}, {"TERM=dumb"});

  EXPECT_EQ(pack.status, 0) << pack.out;
  EXPECT_THAT(pack.out, HasSubstr("compiling"));
  EXPECT_THAT(pack.out, Not(HasSubstr(escape)));
  EXPECT_THAT(pack.out, HasSubstr("\rgantry: wrote \""));
}

// A recipe's directory may contain a program of the compiler's name.
class CompilerOfPath : public ::testing::Test {
 protected:
  CompilerOfPath() {
    std::filesystem::create_directory(temp / "recipe");
    write_file(temp / "recipe/f.c", "int f(void) { return 0; }\n");
    write_file(temp / "recipe/f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");
    write_file(temp / "recipe/cc",
               "#!/bin/sh\ntouch " + (temp / "it has run").native() + "\nexit 1\n");
    std::filesystem::permissions(temp / "recipe/cc", std::filesystem::perms::owner_all);
  }
  Outcome pack(const std::vector<std::string>& environment) {
    return run_gantry({"pack", (temp / "recipe/f.yaml").string(), "-o", (temp / "f.so").string()},
                      environment);
  }

  const TempDir temp;
};

TEST_F(CompilerOfPath, IsNotSearchedInTheDirectoryOfTheRecipe) {
  const Outcome outcome = pack({"PATH=.:/usr/bin:/bin"});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(temp / "it has run"));
}

TEST_F(CompilerOfPath, MayNotBeRelativeInASecureProcess) {
  const std::filesystem::path here = std::filesystem::relative(temp / "recipe", golden(""));

  const Outcome outcome = pack({"PATH=" + here.string() + ":/usr/bin:/bin", "GANTRY_SECURE=1"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("of PATH, which this secure process does not use"));
  EXPECT_FALSE(std::filesystem::exists(temp / "it has run"));
}

// The longest file name of most file systems.
// A device module alone: no compiler runs.
class PackedContainer : public ::testing::Test {
 protected:
  PackedContainer() {
    write_file(temp / "payload", "p");
    write_file(temp / "f.yaml",
               "schema: \"1.0\"\ndevice_modules: [{type_key: npu, data: payload}]\n");
  }
  Outcome pack(Args options) {
    options.insert(options.begin(),
                   {"pack", (temp / "f.yaml").string(), "-o", (temp / "out").string()});
    return run_gantry(options, {"CC=no-such-compiler"});
  }

  const TempDir temp;
};

TEST_F(PackedContainer, HasTheFormAndTheGenerationOfTheOptions) {
  const Outcome packed = pack({"--form", "container", "--generation", "g5"});
  const Outcome bytes = run_gantry({"inspect", (temp / "out").string()});
  std::filesystem::remove(temp / "out");
  const Outcome object = pack({"--form", "object", "--system-library", "--symbol-prefix", "a_"});
  const Outcome linked = run_gantry({"inspect", (temp / "out").string()});

  EXPECT_EQ(packed.status, 0) << packed.err;
  EXPECT_THAT(bytes.out, HasSubstr("G5"));
  EXPECT_THAT(bytes.out, HasSubstr("npu"));
  EXPECT_EQ(object.status, 0) << object.err;
  EXPECT_THAT(linked.out, HasSubstr("a___tvm_dev_mblob"));
}

TEST_F(PackedContainer, RequiresOptionsThatFitEachOther) {
  const Outcome form = pack({"--form", "library", "--system-library"});
  const Outcome prefix = pack({"--symbol-prefix", "a_"});
  const Outcome generation = pack({"--generation", "g2"});

  EXPECT_EQ(form.status, 1);
  EXPECT_THAT(form.err, HasSubstr("a system library is linked into a program; expected form object "
                                  "or source"));
  EXPECT_EQ(prefix.status, 2);
  EXPECT_THAT(prefix.err, HasSubstr("--symbol-prefix requires --system-library"));
  EXPECT_EQ(generation.status, 2);
  EXPECT_THAT(generation.err, HasSubstr("--generation"));
  EXPECT_FALSE(std::filesystem::exists(temp / "out"));
}

TEST(Pack, WritesAFileNameOf255Bytes) {
  const TempDir temp;
  write_file(temp / "f.c", "int f(void) { return 0; }\n");
  write_file(temp / "f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");
  const std::filesystem::path output = temp / (std::string(252, 'm') + ".so");

  const Outcome pack = run_gantry({"pack", (temp / "f.yaml").string(), "-o", output.string()});

  EXPECT_EQ(pack.status, 0) << pack.err;
  EXPECT_TRUE(std::filesystem::exists(output));
}

}  // namespace
}  // namespace gantry::test
