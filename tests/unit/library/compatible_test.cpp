// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/compatible.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

struct Pair {
  gantry_abi_range plugin, core;
  std::uint32_t minor;
};

TEST(Negotiate, ReturnsTheHighestCommonMinor) {
  const Pair pairs[] = {{{1, 0, 0, 0}, {1, 0, 0, 0}, 0},  {{1, 0, 9, 0}, {1, 0, 3, 0}, 3},
                        {{1, 0, 2, 0}, {1, 0, 12, 0}, 2}, {{1, 3, 9, 0}, {1, 0, 3, 0}, 3},
                        {{1, 0, 3, 0}, {1, 3, 9, 0}, 3},  {{1, 4, 6, 0}, {1, 5, 5, 0}, 5}};
  for (const Pair& pair : pairs) {
    const Result<std::uint32_t> minor = negotiate({"acme.npu", "2.3.1"}, pair.plugin, pair.core);
    ASSERT_TRUE(minor.ok()) << minor.error().message;
    EXPECT_EQ(*minor, pair.minor);
  }
}

// Versions are never compared for equality: other minors of the same major work together as long as
// the ranges overlap.
TEST(Negotiate, AcceptsOverlappingRangesAndReportsOthersWithTheOlderSide) {
  const std::uint32_t core = 12;
  for (const int distance : {-10, -1, 1, 10}) {
    const auto other = static_cast<std::uint32_t>(static_cast<int>(core) + distance);
    const auto overlapping = negotiate({"acme.npu", "2.3.1"}, {1, 0, other, 0}, {1, 0, core, 0});
    ASSERT_TRUE(overlapping.ok()) << overlapping.error().message;
    EXPECT_EQ(*overlapping, std::min(core, other));

    const auto disjoint =
        negotiate({"acme.npu", "2.3.1"}, {1, other, other, 0}, {1, core, core, 0});
    ASSERT_FALSE(disjoint.ok()) << distance;
    EXPECT_EQ(disjoint.error().reason, "ABI_RANGE");
    EXPECT_EQ(
        disjoint.error().message,
        concat("plugin acme.npu 2.3.1 supports ABI 1.", other, ", this core supports 1.12: ",
               distance > 0 ? concat("the plugin is newer, update the core to one with ABI 1.",
                                     other, " or install an older acme.npu")
                            : concat("the plugin is older, install a newer acme.npu or use a core "
                                     "with ABI 1.",
                                     other)));
  }
  for (const std::uint32_t major : {1u, 3u}) {
    const auto disjoint = negotiate({"acme.npu", "2.3.1"}, {major, 0, 99, 0}, {2, 0, core, 0});
    ASSERT_FALSE(disjoint.ok());
    EXPECT_EQ(disjoint.error().reason, "ABI_RANGE");
    EXPECT_NE(disjoint.error().message.text().find(
                  concat("supports ABI ", major, ".0-", major,
                         ".99, this core supports 2.0-2.12: the "
                         "plugin is ",
                         major > 2 ? "newer, update the core" : "older, install a newer")),
              std::string::npos)
        << disjoint.error().message;
  }
}

struct Clash {
  gantry_abi_range plugin, core;
  std::string message;
};

TEST(Negotiate, ReportsBothRangesAndWhatToInstall) {
  const Clash clashes[] = {
      {{1, 4, 6, 0},
       {1, 0, 3, 0},
       "plugin acme.npu 2.3.1 supports ABI 1.4-1.6, this core supports 1.0-1.3: "
       "the plugin is newer, update the core to "
       "one with ABI 1.4 or install an older acme.npu"},
      {{1, 0, 0, 0},
       {1, 1, 3, 0},
       "plugin acme.npu 2.3.1 supports ABI 1.0, this core supports 1.1-1.3: the "
       "plugin is older, install a newer acme.npu "
       "or use a core with ABI 1.0"},
      {{2, 0, 1, 0},
       {1, 0, 0, 0},
       "plugin acme.npu 2.3.1 supports ABI 2.0-2.1, this core supports 1.0: the "
       "plugin is newer, update the core to one "
       "with ABI 2.0 or install an older acme.npu"},
      {{1, 0, 9, 0},
       {2, 0, 9, 0},
       "plugin acme.npu 2.3.1 supports ABI 1.0-1.9, this core supports 2.0-2.9: "
       "the plugin is older, install a newer "
       "acme.npu or use a core with ABI 1.9"}};
  for (const Clash& clash : clashes) {
    const Result<std::uint32_t> minor = negotiate({"acme.npu", "2.3.1"}, clash.plugin, clash.core);
    ASSERT_FALSE(minor.ok());
    EXPECT_EQ(minor.error().code, Code::unsupported);
    EXPECT_EQ(minor.error().reason, "ABI_RANGE");
    EXPECT_EQ(minor.error().message, clash.message);
  }
}

}  // namespace
}  // namespace gantry
