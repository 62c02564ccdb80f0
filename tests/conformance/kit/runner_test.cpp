// SPDX-License-Identifier: Apache-2.0
//
// How gantry-conformance runs cases and reports them.
#include "kit_run.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

namespace fs = std::filesystem;

class KitRunner : public ::testing::Test {
 protected:
  std::string plugin(std::string_view defect) { return plugin_with_defect(temp.path(), defect); }
  const TempDir temp;
};

// A plugin that ends, hangs or fills the memory fails its case, and the run goes on.
TEST_F(KitRunner, SurvivesAnExit) {
  const KitRun run = run_kit({plugin("exits_in_count"), "--case", "79", "--case", "16"});

  EXPECT_THAT(run.cases("FAILED"), ElementsAre(79)) << run.output;
  EXPECT_THAT(run.cases("passed"), ElementsAre(16));
  EXPECT_THAT(run.output, HasSubstr("the process of the case exits with status 3 after"));
  EXPECT_EQ(run.status, 1);
}

TEST_F(KitRunner, SurvivesAHang) {
  const KitRun run =
      run_kit({plugin("hangs_in_count"), "--case", "79", "--case", "16", "--timeout", "0.5"});

  EXPECT_THAT(run.cases("FAILED"), ElementsAre(79)) << run.output;
  EXPECT_THAT(run.cases("passed"), ElementsAre(16));
  EXPECT_THAT(run.output, HasSubstr("has not ended after 0.5 s and is killed"));
}

TEST_F(KitRunner, SurvivesExhaustedMemory) {
  const KitRun run = run_kit({plugin("eats_memory"), "--case", "79", "--memory", "256"});

  EXPECT_THAT(run.cases("FAILED"), ElementsAre(79)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("exceeds the memory limit after"));
}

TEST_F(KitRunner, ShowsTheLastOutputOfACrash) {
  const KitRun run = run_kit({plugin("prints_and_aborts"), "--case", "79"});

  EXPECT_THAT(run.cases("FAILED"), ElementsAre(79)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("is ended by signal 6 (Aborted) after"));
  EXPECT_THAT(run.output, HasSubstr("last output: kit plugin: no linker\n"));
  EXPECT_THAT(run.output,
              HasSubstr("gdb --args gantry-conformance --in-process --case 79 MANIFEST ...\n"));
}

TEST_F(KitRunner, RunsInOneProcessForDebuggers) {
  const KitRun run = run_kit({plugin("none"), "--in-process", "--case", "16", "--case", "23"});

  EXPECT_THAT(run.cases("passed"), ElementsAre(16, 23)) << run.output;
  EXPECT_EQ(run.status, 0);
}

TEST_F(KitRunner, RunsTheCasesOfALevel) {
  const KitRun run = run_kit({plugin("none"), "--level", "S"});

  EXPECT_THAT(run.output, HasSubstr("level: none\nbronze requires cases\n  16, 17, "));
  EXPECT_THAT(run.output, HasSubstr(" more: not run\n"));
  EXPECT_TRUE(run.cases("FAILED").empty()) << run.output;
  for (const int number : run.cases("passed")) EXPECT_LE(number, 15);
}

TEST_F(KitRunner, AddsTheSoakToTheTimeOfACase) {
  const KitRun run = run_kit({plugin("none"), "--payloads", payloads_of_kit_plugin(temp.path()),
                              "--case", "88", "--soak", "3", "--timeout", "2.5"});

  EXPECT_THAT(run.cases("skipped"), ElementsAre(88)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("operations in 3 s pass; level X requires --soak 3600"));
}

TEST_F(KitRunner, EndsIfNoRuntimeTrustsThePlugin) {
  const std::string manifest = plugin("none");
  fs::permissions(fs::path(manifest).parent_path(), fs::perms::all);

  const KitRun run = run_kit({manifest, "--case", "16"});
  const KitRun files = run_kit({manifest, "--level", "S"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.cases("passed"), IsEmpty());
  EXPECT_THAT(run.output, HasSubstr("no runtime of this user would use " + manifest));
  EXPECT_EQ(files.status, 0) << files.output;
}

TEST_F(KitRunner, PrintsItsSeed) {
  EXPECT_THAT(run_kit({plugin("none"), "--case", "16", "--seed", "77"}).output,
              HasSubstr("\nseed 77\n"));
}

TEST_F(KitRunner, RefusesWrongUsage) {
  const KitRun nothing = run_kit({});
  const KitRun level = run_kit({plugin("none"), "--level", "Z"});

  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.output, HasSubstr("MANIFEST, the manifest of a plugin, is required"));
  EXPECT_EQ(level.status, 2);
}

TEST_F(KitRunner, RefusesACaseThatDoesNotExist) {
  const KitRun run = run_kit({plugin("none"), "--case", "999"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr("there is no case 999; --list shows the cases"));
}

TEST_F(KitRunner, RefusesAManifestThatDoesNotExist) {
  const KitRun run = run_kit({"/nowhere/x.yaml"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, StartsWith("gantry: "));
}

TEST_F(KitRunner, WritesItsReports) {
  const KitRun run = run_kit({plugin("leaks_descriptor"), "--case", "16", "--case", "42", "--case",
                              "79", "--case", "51", "--seed", "5", "--junit", temp / "junit.xml",
                              "--json", temp / "report.json", "--stamp", temp / "stamp.json"});

  ASSERT_EQ(run.status, 1) << run.output;
  const auto report = nlohmann::json::parse(file_text(temp / "report.json"));
  EXPECT_EQ(report["plugin"], "test.kit 1.0.0");
  EXPECT_EQ(report["seed"], 5);
  EXPECT_EQ(report["passed"], 2);
  EXPECT_EQ(report["failed"], 1);
  EXPECT_EQ(report["skipped"], 1);
  EXPECT_EQ(report["level"], "none");
  EXPECT_EQ(report["cases"][3]["case"], 79);
  EXPECT_EQ(report["cases"][3]["state"], "failed");
  EXPECT_THAT(report["cases"][3]["text"].get<std::string>(), HasSubstr("200 open descriptors"));
  const auto stamp = nlohmann::json::parse(file_text(temp / "stamp.json"));
  EXPECT_EQ(stamp["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(stamp["level"], "none");
  EXPECT_EQ(stamp["abi_minor"], 0);
  EXPECT_EQ(stamp["kit_version"], "0.1.0");
  EXPECT_EQ(stamp["results_sha256"].get<std::string>().size(), 64u);
  const std::string junit = file_text(temp / "junit.xml");
  EXPECT_THAT(junit, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(junit, HasSubstr("name=\"79 leaks-nothing\""));
  EXPECT_THAT(junit, HasSubstr("<failure message=\"200 cycles of create and destroy leave"));
}

}  // namespace
}  // namespace gantry::test
