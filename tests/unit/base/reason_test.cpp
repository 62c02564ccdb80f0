// SPDX-License-Identifier: Apache-2.0
#include "core/base/reason.hpp"

#include <gmock/gmock.h>

#include <set>

namespace gantry {
namespace {

using ::testing::AnyOf;
using ::testing::StartsWith;

TEST(Reasons, AreSortedUniqueAndFitAStatus) {
  std::set<std::string_view> tags;
  std::uint16_t last = 0;
  for (const auto& [one, meaning, remedy, page] : all_reasons()) {
    EXPECT_TRUE(tags.insert(one.tag).second) << one.tag;
    EXPECT_GE(one.number, last) << one.tag;
    EXPECT_LT(one.tag.size(), sizeof(gantry_status::reason)) << one.tag;
    last = one.number;
  }
}

TEST(Reasons, HaveAMeaningAndARemedyWithoutMarkup) {
  EXPECT_GE(all_reasons().size(), 65u);
  for (const auto& [one, meaning, remedy, page] : all_reasons()) {
    EXPECT_FALSE(meaning.empty()) << one.tag;
    EXPECT_FALSE(remedy.empty()) << one.tag;
    EXPECT_EQ(concat(meaning, remedy, page).find_first_of("`|\n[]"), std::string::npos) << one.tag;
  }
}

TEST(Reasons, HaveAPageInTheInstalledDirectoriesOrNone) {
  std::size_t pages = 0;
  for (const auto& [one, meaning, remedy, page] : all_reasons()) {
    if (page.empty()) continue;
    EXPECT_THAT(std::string(page), AnyOf(StartsWith("sdk/"), StartsWith("configs/"))) << one.tag;
    ++pages;
  }
  EXPECT_GE(pages, 50u);
}

TEST(Reasons, HaveAConstantEach) {
  EXPECT_EQ(reason::abi_range, (Reason{210, "ABI_RANGE"}));
  EXPECT_EQ(reason::id_mismatch, (Reason{230, "ID_MISMATCH"}));
  EXPECT_EQ(reason::version_mismatch, (Reason{230, "VERSION_MISMATCH"}));
  EXPECT_EQ(reason::yaml_not_utf8, (Reason{153, "YAML_NOT_UTF8"}));
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
