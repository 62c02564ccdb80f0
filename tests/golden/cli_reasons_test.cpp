// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/cli_command.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* needed =
    "GANTRY-D330 LIB_NEEDED_MISSING\n"
    "  a needed library is not found\n"
    "  what to do: install the package that contains the library\n"
    "  page: sdk/MANIFEST.md#checks-and-errors\n";

TEST(PluginsReasons, PrintsAReasonByNumberCodeOrTagInAnyCase) {
  for (const char* code : {"D330", "GANTRY-D330", "LIB_NEEDED_MISSING", "d330", "gantry-d330"}) {
    const Outcome outcome = run_gantry({"plugins", "reasons", code});

    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, needed) << code;
  }
}

// `GANTRY-D330 LIB_NEEDED_MISSING`, as doctor prints it.
TEST(PluginsReasons, PrintsAReasonOnceIfItIsNamedTwice) {
  EXPECT_EQ(run_gantry({"plugins", "reasons", "GANTRY-D330", "LIB_NEEDED_MISSING"}).out, needed);
}

TEST(PluginsReasons, PrintsBothReasonsOfASharedNumber) {
  const Outcome outcome = run_gantry({"plugins", "reasons", "D230"});

  EXPECT_THAT(outcome.out, HasSubstr("GANTRY-D230 ID_MISMATCH\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n\nGANTRY-D230 VERSION_MISMATCH\n"));
}

TEST(PluginsReasons, PrintsTheWholeCatalogueAsJson) {
  const json all = json::parse(run_gantry({"plugins", "reasons", "--json"}).out).at("reasons");

  EXPECT_GE(all.size(), 65u);
  EXPECT_EQ(all.front(), json::parse(R"({
    "code": "GANTRY-D100", "number": 100, "tag": "NOT_FOUND",
    "meaning": "a listed manifest does not exist",
    "what_to_do": "correct the path in --plugins, plugins.manifests or GANTRY_PLUGIN_FILES, or install the plugin",
    "page": "sdk/MANIFEST.md#search-path"
  })"));
}

TEST(PluginsReasons, PrintsNoPageIfNoneHasMore) {
  const Outcome text = run_gantry({"plugins", "reasons", "D155"});
  const json all = json::parse(run_gantry({"plugins", "reasons", "D155", "--json"}).out);

  EXPECT_EQ(text.out,
            "GANTRY-D155 YAML_TAB\n"
            "  a line is indented with a tab\n"
            "  what to do: indent with blanks\n");
  EXPECT_FALSE(all.at("reasons").at(0).contains("page"));
}

TEST(PluginsReasons, NamesTheNearestCodesAndTagsOfAnUnknownOne) {
  const Outcome code = run_gantry({"plugins", "reasons", "D339"});
  const Outcome tag = run_gantry({"plugins", "reasons", "static_tsl"});
  const Outcome nothing = run_gantry({"plugins", "reasons", "?"});

  EXPECT_EQ(code.status, 1);
  EXPECT_THAT(code.out, IsEmpty());
  EXPECT_EQ(code.err,
            "gantry: reason \"D339\" not found, did you mean \"D309\" or \"D330\" or "
            "\"D331\"\n");
  EXPECT_EQ(tag.err, "gantry: reason \"static_tsl\" not found, did you mean \"STATIC_TLS\"\n");
  EXPECT_EQ(nothing.err, "gantry: reason \"?\" not found; gantry plugins reasons lists all\n");
}

}  // namespace
}  // namespace gantry::test
