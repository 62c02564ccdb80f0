// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/reason.hpp"

#include <gmock/gmock.h>

#include <set>

namespace gantry {
namespace {

TEST(Reasons, AreSortedUniqueAndFitAStatus) {
  std::set<std::string_view> tags;
  std::uint16_t last = 0;
  for (const auto& [one, meaning, remedy] : all_reasons()) {
    EXPECT_TRUE(tags.insert(one.tag).second) << one.tag;
    EXPECT_GE(one.number, last) << one.tag;
    EXPECT_LT(one.tag.size(), sizeof(gantry_status::reason)) << one.tag;
    last = one.number;
  }
}

TEST(Reasons, HaveAMeaningAndARemedyWithoutMarkup) {
  EXPECT_GE(all_reasons().size(), 65u);
  for (const auto& [one, meaning, remedy] : all_reasons()) {
    EXPECT_FALSE(meaning.empty()) << one.tag;
    EXPECT_FALSE(remedy.empty()) << one.tag;
    EXPECT_EQ(concat(meaning, remedy).find_first_of("`|\n"), std::string::npos) << one.tag;
  }
}

TEST(Reasons, AreFoundByTheTagOfAnError) {
  EXPECT_EQ(reason_of(malformed(0, "x").with_reason("YAML_TAB")).number, 155);
  EXPECT_EQ(reason_of("ABI_RANGE"), reason::abi_range);
  EXPECT_FALSE(reason_of("BLOB_TRUNCATED"));
}

TEST(Reasons, HaveNamesWithTheirNumber) {
  EXPECT_EQ(name_of(reason::abi_range), "GANTRY-D210 ABI_RANGE");
}

}  // namespace
}  // namespace gantry
