// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/filter.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

TEST(Glob, MatchesWholeTextsWithStarsQuestionMarksAndClasses) {
  const std::pair<std::string, std::string> match[] = {{"*", ""},
                                                       {"*", "abc"},
                                                       {"a*c", "abbc"},
                                                       {"*vulkan*", "gantry.vulkan"},
                                                       {"a?c", "abc"},
                                                       {"[ab]c", "bc"},
                                                       {"[a-c]x", "bx"},
                                                       {"[!a]x", "bx"},
                                                       {"[", "["},
                                                       {"a[", "a["},
                                                       {"*a*b*", "xaybz"},
                                                       {"gantry.cuda", "gantry.cuda"},
                                                       {"*.yaml", "a.yaml"},
                                                       {"**", "a"},
                                                       {"[a-c]x", "ax"},
                                                       {"[a-c]x", "cx"},
                                                       {"[a-]x", "ax"},
                                                       {"[a-]x", "-x"},
                                                       {"[acb]x", "cx"},
                                                       {"[]]", "]"}};
  for (const auto& [glob, text] : match)
    EXPECT_TRUE(matches_glob(glob, text)) << glob << " " << text;
  const std::pair<std::string, std::string> none[] = {
      {"", "a"},        {"a", ""},        {"a?c", "ac"},   {"gantry.cuda", "gantry.cuda2"},
      {"CUDA", "cuda"}, {"[!a]x", "ax"},  {"[a-c]", "d"},  {"a*", "ba"},
      {"*b", "bc"},     {"[a-c]x", "dx"}, {"ab*bx", "abx"}};
  for (const auto& [glob, text] : none)
    EXPECT_FALSE(matches_glob(glob, text)) << glob << " " << text;
}

// A recursive implementation takes exponential time.
TEST(Glob, IsFastForManyStars) {
  std::string glob;
  for (int i = 0; i < 1000; ++i) glob += "*a";
  EXPECT_FALSE(matches_glob(glob + "b", std::string(2000, 'a')));
}

TEST(Filters, AreTheGlobsBetweenColons) {
  const std::vector<PluginFilter> filters = parse_filters("a.*::b", true, "GANTRY_SELECT");

  ASSERT_EQ(filters.size(), 2u);
  EXPECT_EQ(filters[0].glob, "a.*");
  EXPECT_EQ(filters[1].glob, "b");
  EXPECT_TRUE(filters[1].select);
  EXPECT_EQ(filters[1].source, "GANTRY_SELECT");
  EXPECT_TRUE(parse_filters("", false, "x").empty());
}

}  // namespace
}  // namespace gantry
