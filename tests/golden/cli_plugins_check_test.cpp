// SPDX-License-Identifier: Apache-2.0
//
// gantry plugins check, and what doctor reports about files.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <regex>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A copy of the graph plugin.
class CopyOfGraph {
 public:
  CopyOfGraph() { fs::copy(built_plugins("graph"), dir_ / "graph", fs::copy_options::recursive); }
  // the directory of the manifest
  fs::path directory() const {
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "graph")) {
      if (entry.path().extension() == ".yaml") return entry.path().parent_path();
    }
    return dir_ / "graph";
  }
  void append_to_manifest(std::string_view line) const {
    const fs::path path = directory() / "graph.yaml";
    const auto bytes = read_file(path);
    write_file(path, std::string(bytes.begin(), bytes.end()) + std::string(line) + "\n");
  }

 private:
  TempDir dir_;
};

TEST(PluginsCheck, AcceptsAPluginOfThisProject) {
  const CopyOfGraph graph;

  const Outcome outcome = run_gantry({"plugins", "check", graph.directory()});

  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("gantry.graph "));
  EXPECT_THAT(outcome.out, HasSubstr("\n  PASSED  3  exports            only "
                                     "gantry_plugin_query_v1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n=> conforms: "));
  EXPECT_THAT(outcome.out, HasSubstr(" passed, 0 failed, 0 warnings, "));
  EXPECT_THAT(outcome.out, EndsWith("\nthis host  USABLE\n"));
}

TEST(PluginsCheck, FailsWithTheCaseAndWhatToChange) {
  const CopyOfGraph graph;
  graph.append_to_manifest("sha256: \"" + std::string(64, '0') + "\"");

  const Outcome outcome = run_gantry({"plugins", "check", graph.directory() / "graph.yaml"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("\n  FAILED  12 digest             sha256 is 00000000000000000"));
  EXPECT_THAT(outcome.out, HasSubstr("\n=> does NOT conform: "));
  EXPECT_EQ(outcome.err, "");
}

TEST(PluginsCheck, PrintsJson) {
  const CopyOfGraph graph;

  const Outcome outcome = run_gantry({"plugins", "check", graph.directory(), "--json"});

  const json check = json::parse(outcome.out);
  EXPECT_EQ(check["id"], "gantry.graph");
  EXPECT_EQ(check["conforms"], true);
  ASSERT_EQ(check["findings"].size(), 15u);
  EXPECT_EQ(check["findings"][3], json({{"case", 3},
                                        {"name", "exports"},
                                        {"must", true},
                                        {"outcome", "passed"},
                                        {"text", "only gantry_plugin_query_v1"}}));
  EXPECT_EQ(check["host"], json({{"state", "inspected"}, {"reason", nullptr}, {"text", nullptr}}));
}

// The package conforms, and this host lacks a file, filters the plugin, requires a signature, or has a
// configuration or a manifest that cannot be used.
TEST(PluginsCheck, ReportsWhatThisHostDecidesWithoutAnotherStatus) {
  const TempDir host;
  const CopyOfGraph graph;
  const std::string manifest = graph.directory() / "graph.yaml", trust = host / "trust.yaml";
  const auto last_line = [&](const std::vector<std::string>& environment) {
    const Outcome outcome =
        run_gantry({"--config", host / "runtime.yaml", "plugins", "check", manifest}, environment);
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out.substr(outcome.out.find("\nthis host") + 1);
  };
  write_file(host / "runtime.yaml", "plugins: {trust: trust.yaml}\n");

  EXPECT_EQ(last_line({"GANTRY_DISABLE=gantry.*"}),
            "this host  SKIPPED  GANTRY-D410 FILTERED  disabled by GANTRY_DISABLE \"gantry.*\"\n");
  // A filter that matches no plugin here is not reported.
  EXPECT_EQ(last_line({"GANTRY_DISABLE=acme.*"}), "this host  USABLE\n");
  write_file(trust, "policies: {default: require}\n");
  EXPECT_THAT(last_line({}), StartsWith("this host  REFUSED  GANTRY-D254 SIGNATURE_MISSING  "));
  write_file(trust, "policies: {default: demand}\n");
  EXPECT_THAT(last_line({}),
              AllOf(StartsWith("this host  REFUSED  GANTRY-"), HasSubstr("policies.default")));
  fs::remove(trust);
  graph.append_to_manifest("requires: {files: [/nonexistent/npu.bin]}\nrequired: true");
  EXPECT_THAT(last_line({}), StartsWith("this host  REFUSED  GANTRY-D354 FILE_MISSING  "));
}

TEST(PluginsCheck, ReportsThatALibraryIsForAnotherMachine) {
  const CopyOfGraph graph;
  const fs::path library = graph.directory() / "libgantry_graph.so";
  std::vector<std::uint8_t> bytes = read_file(library);
  // e_machine: SPARC V9
  bytes[18] = 43;
  fs::remove(library);
  write_file(library, bytes);

  const Outcome outcome = run_gantry({"plugins", "check", graph.directory()});

  EXPECT_THAT(outcome.out, HasSubstr("\nthis host  REFUSED  GANTRY-D310 WRONG_MACHINE  "));
}

// As `dpkg-deb -x` and cpack's staging leave it.
TEST(PluginsCheck, ReportsThatAPackageIsUnpackedOnly) {
  const CopyOfGraph graph;
  const TempDir root;
  const std::string library = "/usr/lib/none-linux-gnu/gantry/plugins.d/graph/libgantry_graph.so";
  fs::create_directories(fs::path(root.path().string() + library).parent_path());
  fs::copy_file(graph.directory() / "libgantry_graph.so", root.path().string() + library);
  const fs::path manifests = root / "usr/share/gantry/plugins.d";
  fs::create_directories(manifests);
  const auto bytes = read_file(graph.directory() / "graph.yaml");
  write_file(manifests / "graph.yaml",
             std::regex_replace(std::string(bytes.begin(), bytes.end()),
                                std::regex("\nlibrary: .*"), "\nlibrary: " + library));

  const Outcome outcome = run_gantry({"plugins", "check", manifests / "graph.yaml"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED  0  library"));
  EXPECT_THAT(outcome.out, HasSubstr(root.path().string() + library +
                                     " exists: the package is unpacked, and not installed; check "
                                     "the plugin before it is packed, or install the package\n"));
}

TEST(PluginsCheck, ReportsThatAnEmptyFileIsAMask) {
  const TempDir host;
  write_file(host / "npu.yaml", "");

  const Outcome outcome = run_gantry({"plugins", "check", host / "npu.yaml", "--json"});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(json::parse(outcome.out)["host"]["state"], "found");
  EXPECT_EQ(json::parse(outcome.out)["host"]["reason"], "GANTRY-D110 MASKED");
}

// Libraries that only this shell's LD_LIBRARY_PATH contains are missing on other machines.
TEST(PluginsCheck, DoesNotUseLdLibraryPath) {
  const CopyOfGraph graph;
  fs::copy_file(build_tree() / "tests/fake_plugins/libfake_missing_dependency.so",
                graph.directory() / "libfake.so");
  fs::remove(graph.directory() / "graph.yaml");
  write_file(graph.directory() / "fake.yaml",
             std::string_view("schema: \"1.0\"\nid: test.fake\nversion: \"1.0.0\"\nlibrary: "
                              "libfake.so\nabi: {major: 1, min_minor: 0, max_minor: 0}\nkeys: "
                              "[{key: fake}]\n"));
  const std::string here = (build_tree() / "tests/fake_plugins/not_searched").string();

  const Outcome outcome =
      run_gantry({"plugins", "check", graph.directory(), "--json"}, {"LD_LIBRARY_PATH=" + here});

  EXPECT_EQ(outcome.status, 1);
  const json finding = json::parse(outcome.out)["findings"][6];
  EXPECT_EQ(finding["outcome"], "failed");
  EXPECT_THAT(finding["text"].get<std::string>(),
              StartsWith("libfake_dependency.so.4 is not found, needed by libfake.so; "));
}

TEST(PluginsDoctor, ListsLibrariesThatNoManifestNames) {
  const CopyOfGraph graph;
  fs::remove(graph.directory() / "graph.yaml");
  const std::string plugins = graph.directory().parent_path().string();
  const std::string library = graph.directory() / "libgantry_graph.so";

  const Outcome text = run_gantry({"--plugins", plugins, "plugins", "doctor"});
  const Outcome document = run_gantry({"--plugins", plugins, "plugins", "doctor", "--json"});

  EXPECT_THAT(text.out, HasSubstr("\nunclaimed libraries\n  gantry.graph 0.1.0  " + library +
                                  ": no manifest names this library; install its manifest or "
                                  "remove it\n"));
  EXPECT_EQ(json::parse(document.out)["unclaimed"],
            json::array({{{"library", library}, {"id", "gantry.graph"}, {"version", "0.1.0"}}}));
}

TEST(PluginsCheck, FailsWithoutAManifest) {
  const TempDir empty;

  const Outcome outcome = run_gantry({"plugins", "check", empty.path()});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err,
              HasSubstr("contains no manifest for this machine: no file ends with .yaml"));
}

}  // namespace
}  // namespace gantry::test
