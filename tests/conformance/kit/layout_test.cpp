// SPDX-License-Identifier: Apache-2.0
//
// Case 123 with layouts that compute the size of a payload.
#include "kit_run.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <string>
#include <string_view>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two rows of three numbers of 2 bytes, and padding.
constexpr std::string_view kPayloads = R"(schema: "1.0"
payloads:
  - {key: test.kit, hex: "0200 0300 000000000000000000000000 0102 000000000000 09"}
)";

KitRun measured_with(std::string_view layout) {
  const TempDir temp;
  const std::string manifest = plugin_with_defect(temp.path(), "none");
  std::string text = file_text(manifest);
  constexpr std::string_view declared = "payload: [bytes]";
  text.replace(text.find(declared), declared.size(), concat("payload: [", layout, "]"));
  write_file(manifest, text);
  write_file(temp / "payloads.yaml", kPayloads);
  return run_kit({manifest, "--payloads", (temp / "payloads.yaml").string(), "--case", "123"});
}

TEST(KitLayout, OfAProductFitsItsPayload) {
  const KitRun run =
      measured_with(R"("rows:u16", "cols:u16", "rows*cols*u16", bytes(2), align(8), u8)");

  EXPECT_THAT(run.cases("passed"), ElementsAre(123)) << run.output;
  EXPECT_EQ(run.status, 0);
}

TEST(KitLayout, OfAProductThatIsTooLargeDoesNot) {
  const KitRun run = measured_with(R"("rows:u16", "cols:u16", "weights:rows*cols*u32")");

  EXPECT_THAT(run.cases("FAILED"), ElementsAre(123)) << run.output;
  EXPECT_THAT(run.output, HasSubstr("the layout of key test.kit does not fit: weights: count 6 "
                                    "(rows*cols), room for 5"));
  EXPECT_EQ(run.status, 1);
}

}  // namespace
}  // namespace gantry::test
