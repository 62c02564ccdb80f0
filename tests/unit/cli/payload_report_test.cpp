// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/payload_report.hpp"

#include <gtest/gtest.h>

namespace gantry::cli {
namespace {

PayloadCheck check(std::size_t entry, const char* device, Result<std::int32_t> verdict) {
  return {entry, concat("entry ", entry, " \"fake\" of model.so"), "test.fake", device,
          std::move(verdict)};
}

TEST(PayloadReport, HasALineForEachPayloadAndDevice) {
  const std::string text = payload_checks_text({
      check(1, "npu:0", GANTRY_VERDICT_OPTIMAL),
      check(1, "npu:1", GANTRY_VERDICT_RECOMPILE),
      check(2, "", unsupported("check_binary is not offered").at("while checking entry 2")),
  });

  EXPECT_EQ(text,
            "\npayloads\n"
            "  OPTIMAL   entry 1 \"fake\" of model.so on npu:0, plugin test.fake\n"
            "  RECOMPILE entry 1 \"fake\" of model.so on npu:1, plugin test.fake\n"
            "  UNKNOWN   entry 2 \"fake\" of model.so, plugin test.fake\n"
            "             check_binary is not offered\n"
            "               while checking entry 2\n");
}

TEST(PayloadReport, IsGoodWhereOneDeviceRunsAPayload) {
  EXPECT_TRUE(
      all_run({check(1, "npu:0", GANTRY_VERDICT_NO), check(1, "npu:1", GANTRY_VERDICT_USABLE)}));
}

TEST(PayloadReport, IsBadWhereNoDeviceRunsAPayload) {
  const std::vector<PayloadCheck> checks{check(1, "npu:0", GANTRY_VERDICT_USABLE),
                                         check(2, "npu:0", GANTRY_VERDICT_NO)};

  EXPECT_FALSE(all_run(checks));
  EXPECT_EQ(payload_checks_text(checks),
            "\npayloads\n"
            "  USABLE    entry 1 \"fake\" of model.so on npu:0, plugin test.fake\n"
            "  NO        entry 2 \"fake\" of model.so on npu:0, plugin test.fake\n"
            "  => loading would FAIL\n");
}

// A load leaves it out.
TEST(PayloadReport, IsGoodWithoutAPayloadThatTheModelDoesNotUse) {
  PayloadCheck unused = check(2, "npu:0", GANTRY_VERDICT_NO);
  unused.is_unused = true;

  EXPECT_TRUE(all_run({check(1, "cpu:0", GANTRY_VERDICT_USABLE), unused}));
}

TEST(PayloadReport, IsBadWhereAPayloadCannotBeRead) {
  EXPECT_FALSE(all_run({check(1, "npu:0", malformed(3, "wrong magic"))}));
}

}  // namespace
}  // namespace gantry::cli
