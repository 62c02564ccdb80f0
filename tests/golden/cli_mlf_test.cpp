// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/cli_command.hpp"
#include "tests/golden/console_examples.hpp"
#include "tests/support/files.hpp"
#include "tests/support/tar_bytes.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* archive = "tvm-0.12/digits_crt_graph_llvm.tar";

// An archive with two errors and a warning.
void write_invalid_archive(const std::filesystem::path& path) {
  write_file(path, tar_file("metadata.json", R"({"version": 5, "model_name": "m",
    "export_datetime": "2021-07-20 00:00:00Z", "memory": {"functions": {"main": [],
    "operator_functions": []}}, "target": {"1": "c"}, "executors": ["aot"], "style": "full-model",
    "speed": 1})"));
}

TEST(MlfValidate, AcceptsTheArchivesOfTvm) {
  const Outcome outcome = run_gantry({"mlf", "validate", archive});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "tvm-0.12/digits_crt_graph_llvm.tar\n=> valid: 0 errors, 0 warnings\n");
}

TEST(MlfValidate, ReadsArchivesThatGzipHasCompressed) {
  const TempDir directory;
  const std::string path = directory / "m.tar.gz";
  ASSERT_EQ(std::system(("gzip -c '" + golden(archive).native() + "' > '" + path + "'").c_str()),
            0);

  const Outcome outcome = run_gantry({"mlf", "validate", path});
  const Outcome run = run_gantry({"run", path, "--function", "absent"});

  EXPECT_EQ(outcome.out, path + "\n=> valid: 0 errors, 0 warnings\n") << outcome.err;
  EXPECT_THAT(run.err, HasSubstr("of m.tar.gz"));
}

TEST(MlfValidate, ListsErrorsAndWarningsAndFails) {
  const TempDir directory;
  const std::string path = directory / "m.tar";
  write_invalid_archive(path);

  const Outcome outcome = run_gantry({"mlf", "validate", path});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.out, path +
                             "\n"
                             "  warning  metadata.json: speed  is an unknown key\n"
                             "  error    parameters/m.params  is missing\n"
                             "  warning  src/relay.txt  is missing\n"
                             "  error    codegen/host  has no code of model \"m\"\n"
                             "  error    codegen/host  defines neither tvmgen_m___tvm_main__ nor "
                             "tvmgen_m_run\n"
                             "=> NOT valid: 3 errors, 2 warnings\n");
}

TEST(MlfValidate, PrintsFindingsAsJson) {
  const TempDir directory;
  const std::string path = directory / "m.tar";
  write_invalid_archive(path);

  const Outcome outcome = run_gantry({"mlf", "validate", "--json", path});

  EXPECT_EQ(outcome.status, 1);
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report.at("file"), path);
  EXPECT_EQ(report.at("version"), 5);
  EXPECT_EQ(report.at("valid"), false);
  EXPECT_EQ(report.at("errors"), 3);
  EXPECT_EQ(report.at("warnings"), 2);
  EXPECT_EQ(report.at("findings").at(0), json::parse(R"({
    "level": "warning", "path": "metadata.json: speed", "text": "is an unknown key"})"));
}

TEST(MlfValidate, RefusesOtherFilesAndHostileArchives) {
  const TempDir directory;
  write_file(directory / "a.tar", tar_file("../x", ""));
  write_file(directory / "b.tar", tar_file("x", ""));
  write_file(directory / "c.txt", "hello\n");

  EXPECT_EQ(run_gantry({"mlf", "validate", "tvm-0.12/axpy2_c.so"}).err,
            "gantry: \"tvm-0.12/axpy2_c.so\" is a shared library, expected a tar archive "
            "with metadata.json\n");
  EXPECT_EQ(run_gantry({"mlf", "validate", directory / "a.tar"}).err,
            "gantry: member \"../x\" leaves the archive by \"..\" (offset 0x0)\n  in " +
                (directory / "a.tar").string() + "\n");
  EXPECT_EQ(run_gantry({"mlf", "validate", directory / "b.tar"}).err,
            "gantry: archive has no metadata.json; its members are \"x\"\n  in " +
                (directory / "b.tar").string() + "\n");
  EXPECT_THAT(run_gantry({"mlf", "validate", directory / "c.txt"}).err,
              HasSubstr("is text that begins with \"hello\", expected a tar archive"));
}

TEST(MlfShow, ListsAnArchive) {
  const Outcome outcome = run_gantry({"mlf", "show", archive});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("tvm-0.12/digits_crt_graph_llvm.tar\n"
                                      "  format      Model Library Format, version 7\n"
                                      "  models      1\n"
                                      "\n"
                                      "model digits\n"
                                      "  style       full-model\n"
                                      "  executor    graph\n"
                                      "  exported    2026-11-20 13:35:46Z\n"
                                      "  target      llvm -keys=cpu \n"
                                      "  memory      cpu: 25.7 KiB parameters, 296 B inputs and "
                                      "outputs, 480 B workspace\n"
                                      "  input       x  float32, 256 B\n"
                                      "  output      output  float32, 40 B\n"
                                      "  code        codegen/host/lib/digits_lib0.o\n"
                                      "  code        codegen/host/lib/digits_lib1.o\n"
                                      "\n"
                                      "storage (9)\n"
                                      "  id  bytes  input\n"
                                      "   0    256  x\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nparameters (6)\n  p2  float32[4, 64, 8], 8.0 KiB\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  tvmgen_digits_fused_nn_softmax  80 B on cpu\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nmembers (6)\n  bytes  name\n   2824  codegen/host/lib/"));
}

TEST(MlfShow, PrintsAnArchiveAsJson) {
  const Outcome outcome = run_gantry({"mlf", "show", "--json", archive});

  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report.at("version"), 7);
  EXPECT_EQ(report.at("members").size(), 6u);
  const json& model = report.at("models").at(0);
  EXPECT_EQ(model.at("name"), "digits");
  EXPECT_EQ(model.at("executors"), json::parse(R"(["graph"])"));
  EXPECT_EQ(model.at("targets"), json::parse(R"(["llvm -keys=cpu "])"));
  EXPECT_EQ(model.at("memory").at(0).at("workspace"), 480);
  EXPECT_EQ(model.at("memory").at(0).at("inputs").at(0),
            json::parse(R"({"name": "x", "dtype": "float32", "bytes": 256})"));
  EXPECT_EQ(model.at("storage").at(1), json::parse(R"({"id": 1, "bytes": 16384, "input": "p0"})"));
  EXPECT_EQ(model.at("parameters").at(0), json::parse(R"({"name": "p2", "dtype": "float32",
    "shape": [4, 64, 8], "bytes": 8192})"));
  EXPECT_EQ(model.at("functions").size(), 4u);
  EXPECT_EQ(model.at("objects").size(), 2u);
  EXPECT_TRUE(model.at("library").is_null());
}

TEST(MlfShow, RefusesAnArchiveWithErrorsInItsMetadata) {
  const TempDir directory;
  write_file(directory / "m.tar", tar_file("metadata.json", R"({"version": 5})"));

  const Outcome outcome = run_gantry({"mlf", "show", directory / "m.tar"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, StartsWith("gantry: metadata.json: model_name is missing; gantry mlf "
                                      "validate lists all errors\n"));
}

TEST(MlfExport, WritesAnArchiveThatIsValidAndReproducible) {
  const TempDir directory;
  const std::string a = directory / "a.tar", b = directory / "b.tar";
  const std::vector<std::string> words = {"mlf", "export", "tvm-0.12/resnet20_llvm.so", "--name",
                                          "resnet20"};
  const auto export_to = [&](const std::string& path, const std::vector<std::string>& environment) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"-o", path});
    return run_gantry(all, environment);
  };

  const Outcome first = export_to(a, {"TZ=Asia/Tokyo"}), second = export_to(b, {"TZ=UTC"});

  ASSERT_EQ(first.status, 0) << first.err;
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_TRUE(read_file(a) == read_file(b));
  EXPECT_EQ(run_gantry({"mlf", "validate", a}).out, a + "\n=> valid: 0 errors, 0 warnings\n");
  EXPECT_EQ(run_gantry({"inspect", "--json", a}).status, 0);
}

TEST(MlfExport, WritesTheTimeOfTheEnvironmentOrTheOption) {
  const TempDir directory;
  const std::string path = directory / "a.tar";
  const auto time_with = [&](const std::vector<std::string>& options,
                             const std::vector<std::string>& environment) -> std::string {
    std::vector<std::string> all = {"mlf", "export", "tvm-0.12/digits_mlp_c.so", "-o", path};
    all.insert(all.end(), options.begin(), options.end());
    const Outcome outcome = run_gantry(all, environment);
    if (outcome.status != 0) return outcome.err;
    const json shown = json::parse(run_gantry({"mlf", "show", "--json", path}).out);
    return shown.at("models").at(0).at("export_datetime");
  };

  EXPECT_EQ(time_with({}, {}), "1970-01-01 00:00:00Z");
  EXPECT_EQ(time_with({}, {"SOURCE_DATE_EPOCH=1000000000"}), "2001-09-09 01:46:40Z");
  EXPECT_EQ(time_with({"--time", "2026-11-20 13:35:47Z"}, {"SOURCE_DATE_EPOCH=1000000000"}),
            "2026-11-20 13:35:47Z");
  EXPECT_EQ(time_with({}, {"SOURCE_DATE_EPOCH=-1"}),
            "gantry: SOURCE_DATE_EPOCH is \"-1\", range is 0 to 253402300799\n");
}

TEST(MlfExport, ChangesTheVersionOfAnArchive) {
  const TempDir directory;
  const std::string five = directory / "5.tar", seven = directory / "7.tar";

  ASSERT_EQ(run_gantry({"mlf", "export", archive, "-o", five, "--version", "5"}).status, 0);
  ASSERT_EQ(run_gantry({"mlf", "export", five, "-o", seven}).status, 0);

  EXPECT_EQ(json::parse(run_gantry({"mlf", "show", "--json", five}).out).at("version"), 5);
  EXPECT_EQ(run_gantry({"mlf", "validate", seven}).status, 0);
}

TEST(MlfExport, MovesNoArchiveWithAnErrorIntoPlace) {
  const TempDir directory;
  const std::string in = directory / "in.tar", out = directory / "out.tar";
  write_invalid_archive(in);

  const Outcome outcome = run_gantry({"mlf", "export", in, "-o", out});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err,
            "gantry: archive would have 3 errors, the first: parameters/m.params is missing\n"
            "  cannot write \"" +
                out + "\"\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(MlfExport, WritesToAPipe) {
  const Outcome outcome = run_gantry({"mlf", "export", "tvm-0.12/digits_mlp_c.so", "-o", "-"});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size() % 512, 0u);
  EXPECT_THAT(outcome.out, StartsWith("README.md"));
}

TEST(MlfExport, LeavesNothingAfterAFailure) {
  const TempDir directory;
  const std::string path = directory / "a.tar";
  write_file(directory / "notes.txt", "text\n");

  const Outcome no_graph = run_gantry({"mlf", "export", "tvm-0.12/axpy2_c.so", "-o", path});
  const Outcome no_library =
      run_gantry({"mlf", "export", "tvm-0.12/digits_mlp.input.npz", "-o", path});
  const Outcome no_tar =
      run_gantry({"mlf", "export", "tvm-0.12/digits_mlp_c.so", "-o", directory / "notes.txt"});
  const Outcome input = run_gantry({"mlf", "export", archive, "-o", golden(archive)});
  const Outcome version = run_gantry({"mlf", "export", archive, "-o", path, "--version", "6"});

  EXPECT_EQ(no_graph.status, 1);
  EXPECT_EQ(no_graph.err,
            "gantry: no module is a graph (GraphExecutorFactory), the modules are \"_lib\"\n  in "
            "tvm-0.12/axpy2_c.so\n");
  EXPECT_THAT(no_library.err, HasSubstr("is an archive of NumPy arrays, expected a shared library "
                                        "or a model library archive"));
  EXPECT_THAT(no_tar.err, HasSubstr("it exists and is not a tar archive; remove it or choose "
                                    "another output"));
  EXPECT_EQ(file_text(directory / "notes.txt"), "text\n");
  EXPECT_EQ(input.status, 1);
  EXPECT_EQ(version.status, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

class MlfRun : public ::testing::Test {
 protected:
  Outcome run(const std::string& file, const std::string& expected,
              const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words = {
        "--plugins", built_plugins("graph"),          "run",      file,    "--each",
        "--input",   "tvm-0.12/digits_mlp.input.npz", "--expect", expected};
    words.insert(words.end(), options.begin(), options.end());
    return run_gantry(words, {"XDG_CACHE_HOME=" + (directory_ / "cache").string()});
  }
  TempDir directory_;
};

TEST_F(MlfRun, HasTheOutputsOfTvmFromObjectsAndFromSources) {
  const Outcome objects = run(archive, "tvm-0.12/digits_mlp_llvm.expected.npz");
  const Outcome sources =
      run("tvm-0.12/digits_cpp_graph_c.tar", "tvm-0.12/digits_mlp_c.expected.npz");

  EXPECT_EQ(objects.status, 0) << objects.err;
  EXPECT_THAT(objects.out, HasSubstr("equal to tvm-0.12/digits_mlp_llvm.expected.npz"));
  EXPECT_EQ(sources.status, 0) << sources.err;
  EXPECT_THAT(sources.out, HasSubstr("equal to tvm-0.12/digits_mlp_c.expected.npz"));
}

TEST_F(MlfRun, HasTheOutputsOfTheExportedLibraryUnderAnySuffix) {
  const std::string path = directory_ / "digits.model-lib";
  ASSERT_EQ(run_gantry({"mlf", "export", "tvm-0.12/digits_mlp_llvm.so", "-o", path}).status, 0);

  const Outcome outcome = run(path, "tvm-0.12/digits_mlp_llvm.expected.npz");

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("equal to tvm-0.12/digits_mlp_llvm.expected.npz"));
  // The library is used where it is in the archive.
  EXPECT_FALSE(std::filesystem::exists(directory_ / "cache/gantry/linked"));
}

// Other names of members, and code without a model's name.
TEST_F(MlfRun, HasTheOutputsOfAnArchiveOfVersion5) {
  const std::string path = directory_ / "5.tar";
  ASSERT_EQ(run_gantry({"mlf", "export", archive, "-o", path, "--version", "5"}).status, 0);

  EXPECT_EQ(run(path, "tvm-0.12/digits_mlp_llvm.expected.npz").status, 0);
}

// Exported from two libraries, then from that archive.
TEST_F(MlfRun, RunsTheChosenModelOfSeveral) {
  const std::string two = directory_ / "two.tar", again = directory_ / "again.tar";
  const Outcome exported =
      run_gantry({"mlf", "export", "tvm-0.12/resnet20_c.so", "tvm-0.12/digits_mlp_llvm.so",
                  "--name", "resnet20", "--name", "digits", "-o", two});
  ASSERT_EQ(exported.status, 0) << exported.err;
  ASSERT_EQ(run_gantry({"mlf", "export", two, "-o", again}).status, 0);
  EXPECT_TRUE(read_file(two) == read_file(again));
  EXPECT_EQ(run_gantry({"mlf", "validate", two}).out, two + "\n=> valid: 0 errors, 0 warnings\n");

  const Outcome digits =
      run(two, "tvm-0.12/digits_mlp_llvm.expected.npz", {"--function", "digits"});
  const Outcome none = run(two, "tvm-0.12/digits_mlp_llvm.expected.npz");
  const Outcome wrong = run(two, "tvm-0.12/digits_mlp_llvm.expected.npz", {"--function", "digit"});

  EXPECT_EQ(digits.status, 0) << digits.err;
  EXPECT_THAT(digits.out, HasSubstr("equal to tvm-0.12/digits_mlp_llvm.expected.npz"));
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.err,
            "gantry: the archive has 2 models, one must be named\n  \"digits\"\n  \"resnet20\"\n  "
            "--function NAME selects one\n");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, StartsWith("gantry: model \"digit\" of the archive not found"));
}

// A script with one call of a function that only one of two models has.
TEST_F(MlfRun, PlaysAScriptOnTheChosenModelOfSeveral) {
  const std::string two = directory_ / "two.tar", script = directory_ / "script.json";
  ASSERT_EQ(run_gantry({"mlf", "export", "tvm-0.12/resnet20_c.so", "tvm-0.12/digits_mlp_llvm.so",
                        "--name", "resnet20", "--name", "digits", "-o", two})
                .status,
            0);
  write_file(script, R"({"kind": "tir", "calls": [{"func": "tvmgen_default_fused_nn_softmax",
                         "args": [{"t": "int", "v": 6}]}]})");
  const auto play = [&](const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> args{"--plugins", built_plugins("graph"), "run", file, "--script",
                                  script};
    args.insert(args.end(), more.begin(), more.end());
    return run_gantry(args, {"XDG_CACHE_HOME=" + (directory_ / "cache").string()});
  };

  const Outcome chosen = play(two, {"--function", "digits"});
  const Outcome none = play(two, {});
  const Outcome single = play("tvm-0.12/digits_mlp_llvm.so", {"--function", "digits"});

  EXPECT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_THAT(chosen.out, StartsWith("call 0 tvmgen_default_fused_nn_softmax: error "));
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, StartsWith("gantry: the archive has 2 models, one must be named\n"));
  EXPECT_THAT(none.err, HasSubstr("--function NAME selects one\n"));
  EXPECT_EQ(single.status, 1);
  EXPECT_THAT(single.err, StartsWith("gantry: --function \"digits\" selects a model of an archive "
                                     "with several, which the file is not; the script names"));
}

TEST(MlfExport, RequiresANameForEachFileOrNone) {
  const TempDir directory;
  const Outcome outcome =
      run_gantry({"mlf", "export", "tvm-0.12/resnet20_c.so", "tvm-0.12/digits_mlp_llvm.so",
                  "--name", "a", "-o", directory / "two.tar"});
  const Outcome archived =
      run_gantry({"mlf", "export", "tvm-0.12/resnet20_c.so", archive, "-o", directory / "two.tar"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "gantry: --name is given 1 times, file count is 2\n");
  EXPECT_EQ(archived.status, 1);
  EXPECT_THAT(archived.err, HasSubstr("expected a shared library, as for each of several models"));
}

TEST_F(MlfRun, HasTheOutputsOfCodeThatIsCompiledAheadOfTime) {
  const Outcome outcome =
      run_gantry({"--plugins", built_plugins("aot"), "run", "tvm-0.12/digits_cpp_aot_llvm.tar",
                  "--each", "--input", "tvm-0.12/digits_mlp.input.npz", "--expect",
                  "tvm-0.12/digits_mlp_llvm.expected.npz", "--rtol", "0", "--atol", "0"},
                 {"XDG_CACHE_HOME=" + (directory_ / "cache").string()});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("equal to tvm-0.12/digits_mlp_llvm.expected.npz"));
}

TEST(Mlf, CompletesItsCommands) {
  const Outcome outcome = run_gantry({"__complete", "--", "mlf", ""});

  for (const char* command : {"export\t", "show\t", "validate\t"}) {
    EXPECT_THAT(outcome.out, HasSubstr(command));
  }
  EXPECT_THAT(run_gantry({"__complete", "--", "mlf", "export", "--ver"}).out,
              HasSubstr("--version\t"));
}

TEST(MlfPage, ShowsWhatTheCommandsPrint) {
  const TempDir directory;

  EXPECT_EQ(run_examples("core/formats/mlf/MLF.md",
                         {.name = "digits.tar", .path = (directory / "digits.tar").string()}),
            2);
}

}  // namespace
}  // namespace gantry::test
