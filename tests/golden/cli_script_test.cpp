// SPDX-License-Identifier: Apache-2.0
//
// Plays call scripts with the built program.
#include "tests/golden/cli_command.hpp"
#include "tests/support/built_plugins.hpp"
#include "tests/support/files.hpp"
#include "tests/support/page.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* library = "relax/tir_ret_llvm.so";

class PlayScript : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // A script of kind tir with one call.
  std::string script(const std::string& call) {
    write_file(path("script.json"), R"({"kind": "tir", "calls": [)" + call + "]}");
    return path("script.json");
  }

 private:
  TempDir temp_;
};

constexpr const char* add =
    R"({"func": "addi", "args": [{"t": "int", "v": 6}, {"t": "int", "v": 7}])";

TEST_F(PlayScript, EndsWithStatus0WithoutADifference) {
  const Outcome run =
      run_gantry({"run", "relax/tir_multi_llvm.so", "--script", "relax/tir_multi_llvm.json"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "28 calls, 0 differences\n");
}

TEST_F(PlayScript, PrintsDifferencesAndEndsWithStatus1) {
  const Outcome run = run_gantry(
      {"run", library, "--script", script(std::string(add) + R"(, "ret": {"t": "none"}})")});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_EQ(run.out, "call 0 addi: \"result\" is 43, expected none\n1 call, 1 difference\n");
}

TEST_F(PlayScript, HasATolerance) {
  std::filesystem::copy_file(golden("relax/tir_ret_llvm.npz"), path("near.npz"));
  json near = json::parse(file_text(golden("relax/tir_ret_llvm.json")));
  // The argument before the call as the expected one after it.
  near["calls"][1]["after"]["0"]["key"] = near["calls"][1]["args"][0]["key"];
  write_file(path("near.json"), near.dump());

  const Outcome strict = run_gantry({"run", library, "--script", path("near.json")});
  const Outcome relative =
      run_gantry({"run", library, "--script", path("near.json"), "--rtol", "1e9"});
  const Outcome absolute =
      run_gantry({"run", library, "--script", path("near.json"), "--atol", "1e9"});

  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.out, HasSubstr("\"argument 0\" differs at [0]"));
  EXPECT_THAT(strict.out, HasSubstr("(rtol 1e-05, atol 1e-06)\n"));
  EXPECT_EQ(relative.status, 0) << relative.out;
  EXPECT_EQ(absolute.status, 0) << absolute.out;
}

TEST_F(PlayScript, PrintsResultsThatAreNotRecorded) {
  const Outcome run = run_gantry({"run", library, "--script", script(std::string(add) + "}")});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "call 0 addi: result  43\n1 call, 0 differences\n");
}

TEST_F(PlayScript, RecordsWhatIsThenPlayedWithoutADifference) {
  for (const char* name : {"tir_ret_llvm", "tir_multi_llvm"}) {
    const std::string base = std::string("relax/") + name;
    json bare = json::parse(file_text(golden(base + ".json")));
    for (json& call : bare["calls"]) {
      for (const char* member : {"ret", "error", "after"}) call.erase(member);
    }
    write_file(path("bare.json"), bare.dump());
    std::filesystem::copy_file(golden(base + ".npz"), path("bare.npz"),
                               std::filesystem::copy_options::overwrite_existing);

    const Outcome record = run_gantry(
        {"run", base + ".so", "--script", path("bare.json"), "--record", path("recorded.json")});
    const Outcome again =
        run_gantry({"run", base + ".so", "--script", path("recorded.json"), "--rtol", "0"});

    EXPECT_EQ(record.status, 0) << record.err;
    EXPECT_EQ(again.status, 0) << again.out << again.err;
    const json expected = json::parse(file_text(golden(base + ".json")))["calls"];
    const json recorded = json::parse(file_text(path("recorded.json")))["calls"];
    ASSERT_EQ(recorded.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(recorded[i]["args"], expected[i]["args"]) << i;
      EXPECT_EQ(recorded[i].value("error", json()), expected[i].value("error", json())) << i;
      EXPECT_EQ(recorded[i].value("ret", json()), expected[i].value("ret", json())) << i;
    }
  }
}

TEST_F(PlayScript, ReplacesNoInput) {
  const std::string input = script(std::string(add) + "}");
  const std::string before = file_text(input);
  std::filesystem::create_hard_link(input, path("link.json"));

  const Outcome itself = run_gantry({"run", library, "--script", input, "--record", input});
  const Outcome linked =
      run_gantry({"run", library, "--script", input, "--record", path("link.json")});

  for (const Outcome& run : {itself, linked}) {
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr("it is an input of this command"));
  }
  EXPECT_EQ(file_text(input), before);
}

TEST_F(PlayScript, PrintsOneJsonDocument) {
  write_file(path("s.json"), std::string(R"({"kind": "tir", "calls": [)") + add +
                                 R"(, "ret": {"t": "none"}}, )" + add + "}]}");

  const Outcome run = run_gantry({"run", library, "--script", path("s.json"), "--json"});

  EXPECT_EQ(run.status, 1);
  const json report = json::parse(run.out);
  EXPECT_EQ(report["calls"], 2);
  EXPECT_EQ(report["devices"], json({"cpu"}));
  EXPECT_EQ(
      report["differences"],
      json({{{"call", 0}, {"function", "addi"}, {"text", "\"result\" is 43, expected none"}}}));
  EXPECT_EQ(report["results"], json({{{"call", 1}, {"function", "addi"}, {"text", "result  43"}}}));
}

TEST_F(PlayScript, RefusesAMalformedScriptBeforeItLoadsTheModel) {
  write_file(path("s.json"), R"({"kind": "tir", "calls": [{"func": 3}]})");

  const Outcome run = run_gantry({"run", "no-such.so", "--script", path("s.json")});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, StartsWith("gantry: call script: calls[0].func is 3, expected a string"));
}

TEST_F(PlayScript, RefusesATraceOnStandardOutput) {
  const Outcome run =
      run_gantry({"run", library, "--script", script(std::string(add) + "}"), "--trace", "-"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("standard output is used twice, by --trace and the report of "
                                 "--script"));
}

TEST_F(PlayScript, WritesATrace) {
  const Outcome run = run_gantry(
      {"run", library, "--script", script(std::string(add) + "}"), "--trace", path("trace.json")});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(json::parse(file_text(path("trace.json"))).contains("traceEvents"));
}

TEST_F(PlayScript, RefusesOtherOptionsAndSuffixes) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--input", "x=x.npy"}, "--script excludes --input"},
      {{"--output", "y.npz"}, "--script excludes --output"},
      {{"--expect", "y.npz"}, "--script excludes --expect"},
      {{"--repeat", "2"}, "--script excludes --repeat"},
      {{"--each"}, "--script excludes --each"},
      {{"--capture"}, "--script excludes --capture"},
      {{"--function", "f", "--arg", "int:1"}, "--arg excludes --script"},
      {{"--record", "out.npz"}, "--record: \"out.npz\" has the wrong suffix, expected FILE.json"}};
  for (const auto& [options, text] : wrong) {
    std::vector<std::string> args = {"run", library, "--script", "s.json"};
    args.insert(args.end(), options.begin(), options.end());

    const Outcome run = run_gantry(args);

    EXPECT_EQ(run.status, 2) << text;
    EXPECT_THAT(run.err, HasSubstr(text));
  }
  EXPECT_THAT(run_gantry({"run", library, "--record", "s.json"}).err,
              HasSubstr("--record requires --script"));
  EXPECT_THAT(run_gantry({"run", library, "--force"}).err,
              HasSubstr("--force requires --function"));
  EXPECT_THAT(run_gantry({"run", library, "--atol", "1"}).err,
              HasSubstr("--atol requires --expect"));
}

TEST_F(PlayScript, PrintsWhatThePageShows) {
  const std::string page = read_page("tools/gantry/SCRIPT.md");
  write_file(path("calls.json"), blocks_of(page, "json").at(0));
  const std::string shown = blocks_of(page, "console").at(0);
  const std::size_t end = shown.find('\n');

  const Outcome run =
      run_gantry({"--plugins", built_plugins(), "run", library, "--script", path("calls.json")});

  EXPECT_EQ(shown.substr(0, end), "$ gantry run " + std::string(library) + " --script calls.json");
  EXPECT_EQ(run.out, shown.substr(end + 1));
  EXPECT_EQ(run.status, 1);
}

}  // namespace
}  // namespace gantry::test
