// SPDX-License-Identifier: Apache-2.0
//
// What `gantry pack` prints about an artifact.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace gantry::test {
namespace {

using nlohmann::json;

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
