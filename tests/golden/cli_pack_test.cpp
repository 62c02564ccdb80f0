// SPDX-License-Identifier: Apache-2.0
//
// What `gantry pack` prints about an artifact.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class Pack : public ::testing::Test {
 protected:
  Pack() {
    write_file(temp_ / "twice.c", "int twice(int x) { return 2 * x; }\n");
    write_file(temp_ / "a.bin", "twelve bytes");
    write_file(temp_ / "b.bin", "four");
    write_file(temp_ / "model.yaml",
               "schema: \"1.0\"\nsources: [twice.c]\ndevice_modules:\n"
               "  - {type_key: npu, data: a.bin}\n  - {type_key: dsp, data: b.bin}\n");
    write_file(temp_ / "host.yaml", "schema: \"1.0\"\nsources: [twice.c]\n");
  }
  std::string path(const std::string& name) const { return (temp_ / name).string(); }

  TempDir temp_;
};

TEST_F(Pack, PrintsOneDocumentWithTheModulesOfTheResult) {
  const Outcome packed = run_gantry({"pack", path("model.yaml"), "-o", path("model.so"), "--json"});

  ASSERT_EQ(packed.status, 0) << packed.err;
  json document = json::parse(packed.out);
  EXPECT_GT(document["bytes"], 16);
  document.erase("bytes");
  EXPECT_EQ(document, json({{"file", path("model.yaml")},
                            {"output", path("model.so")},
                            {"form", "library"},
                            {"generation", "g3"},
                            {"modules",
                             {{{"index", 0}, {"type_key", "_lib"}, {"size", 0}},
                              {{"index", 1}, {"type_key", "npu"}, {"size", 12}},
                              {{"index", 2}, {"type_key", "dsp"}, {"size", 4}}}},
                            {"warnings", json::array()}}));
}

TEST_F(Pack, ReportsWhatItWroteOnStderr) {
  const Outcome packed =
      run_gantry({"pack", path("model.yaml"), "-o", path("model.bin"), "--form", "container"});
  const Outcome host = run_gantry({"pack", path("host.yaml"), "-o", path("host.so")});
  const Outcome stream = run_gantry({"pack", path("model.yaml"), "-o", "-"});
  const Outcome quiet = run_gantry({"-q", "pack", path("model.yaml"), "-o", path("model.so")});

  EXPECT_THAT(packed.out, IsEmpty());
  EXPECT_EQ(packed.err, "gantry: wrote \"" + path("model.bin") + "\", " +
                            std::to_string(std::filesystem::file_size(temp_ / "model.bin")) +
                            " B: _lib, npu, dsp\n");
  EXPECT_THAT(host.err, MatchesRegex("gantry: wrote \"[^\"]*host.so\", [0-9.]+ KiB: CPU code\n"));
  EXPECT_EQ(stream.err, "gantry: wrote standard output: _lib, npu, dsp\n");
  EXPECT_EQ(quiet.err, "");
}

TEST_F(Pack, PrintsTheModulesThatInspectFinds) {
  const Outcome packed = run_gantry({"pack", path("model.yaml"), "-o", path("model.bin"), "--form",
                                     "container", "--generation", "g5", "--json"});
  const Outcome inspected = run_gantry({"inspect", path("model.bin"), "--json"});

  ASSERT_EQ(packed.status, 0) << packed.err;
  ASSERT_EQ(inspected.status, 0) << inspected.err;
  const json printed = json::parse(packed.out)["modules"];
  const json found = json::parse(inspected.out)["modules"];
  ASSERT_EQ(printed.size(), 3u);
  ASSERT_EQ(found.size(), 3u);
  for (std::size_t m = 0; m < 3; ++m) {
    for (const char* const field : {"index", "type_key", "size"})
      EXPECT_EQ(printed[m][field], found[m][field]) << m << ' ' << field;
  }
}

TEST_F(Pack, PrintsTheSizeOfTheContainer) {
  const Outcome packed = run_gantry(
      {"pack", path("model.yaml"), "-o", path("model.bin"), "--form", "container", "--json"});
  const Outcome host = run_gantry({"pack", path("host.yaml"), "-o", path("host.so"), "--json"});

  ASSERT_EQ(packed.status, 0) << packed.err;
  EXPECT_EQ(json::parse(packed.out)["bytes"], std::filesystem::file_size(temp_ / "model.bin"));
  ASSERT_EQ(host.status, 0) << host.err;
  EXPECT_EQ(json::parse(host.out)["bytes"], 0);
  EXPECT_EQ(json::parse(host.out)["modules"], json::array());
}

// Before G5, only the layout of the vendor's manifest delimits the first payload.
TEST_F(Pack, WritesPayloadsThatADeclaredLayoutDelimitsInEveryGeneration) {
  Words payload = Words().text("ANPU").u16(2);
  payload.u8(2).u8(3).text("weight").u8(1).u8(1).text("w").u8(0).u32(10).text("6bytes");
  payload.text("acme").u32(0);
  write_file(temp_ / "a.bin", payload.bytes());
  write_file(temp_ / "npu.yaml",
             "schema: \"1.0\"\nsources: [twice.c]\ndevice_modules:\n"
             "  - {type_key: acme.npu, data: a.bin}\n  - {type_key: acme.npu, data: a.bin}\n");
  ManifestBuilder()
      .id("acme.npu")
      .set("keys",
           "[{key: acme.npu, payload: ['magic:\"ANPU\"(4)', \"layers:u16\", "
           "\"all:layers*{rows:u8, cols:u8, weights:bytes(rows*cols)}\", align(2), "
           "\"image:sized(u32-4)<bytes(6)>\", \"vendor:str(8)\"]}]")
      .write_to(temp_ / "plugins/npu.yaml");
  const json details = {
      {"magic", "ANPU"},
      {"layers", 2},
      {"all",
       {{{"rows", 2}, {"cols", 3}, {"weights", 6}}, {{"rows", 1}, {"cols", 1}, {"weights", 1}}}},
      {"image", 6},
      {"vendor", "acme"}};
  for (const std::string generation : {"g3", "g4", "g5", "g2"}) {
    // G2 is written from the library.
    const std::string form = generation == "g3" ? "library" : "container";
    std::vector<std::string> written{"pack", path("npu.yaml"), "--form", form};
    if (generation == "g2") written = {"--plugins", path("plugins"), "repack", path("g3.bin")};
    written.insert(written.end(), {"-o", path(generation + ".bin"), "--generation", generation});
    const Outcome outcome = run_gantry(written);
    ASSERT_EQ(outcome.status, 0) << outcome.err;

    const Outcome inspected =
        run_gantry({"--plugins", path("plugins"), "inspect", path(generation + ".bin"), "--json"});

    ASSERT_EQ(inspected.status, 0) << inspected.err;
    const json modules = json::parse(inspected.out)["modules"];
    ASSERT_EQ(modules.size(), 3u) << generation;
    for (const std::size_t m : {1, 2}) {
      EXPECT_EQ(modules[m]["size"], payload.size()) << generation;
      EXPECT_EQ(modules[m]["extent"], generation == "g5" ? "exact" : "laid-out");
      EXPECT_EQ(modules[m]["details"], details) << generation;
    }
  }
}

TEST_F(Pack, UsesStandardOutputOnce) {
  for (const std::string output : {"-", "/dev/stdout"}) {
    const Outcome twice = run_gantry({"pack", path("model.yaml"), "-o", output, "--json"});

    EXPECT_EQ(twice.status, 1);
    EXPECT_EQ(twice.out, "");
    EXPECT_THAT(twice.err,
                ::testing::HasSubstr("standard output is used twice, by --output and --json\n"));
  }
}

}  // namespace
}  // namespace gantry::test
