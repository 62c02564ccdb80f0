// SPDX-License-Identifier: Apache-2.0
#include "core/base/near_name.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("keys", "keys"), 0u);
  EXPECT_EQ(edit_distance("key", "keys"), 1u);
  EXPECT_EQ(edit_distance("libary", "library"), 1u);
  EXPECT_EQ(edit_distance("lirbary", "library"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(EditDistance, DoesNotCompareNamesOverTheLimit) {
  EXPECT_EQ(edit_distance(std::string(300, 'a'), std::string(300, 'a')), 256u);
}

TEST(NearNames, ReturnsAtMostThreeNearestFirst) {
  EXPECT_THAT(near_names("prioritty", {"priority", "probe", "vendor"}), ElementsAre("priority"));
  EXPECT_THAT(near_names("abcd", {"abcx", "abcy", "abc", "abcz", "xyz"}),
              ElementsAre("abc", "abcx", "abcy"));
  EXPECT_THAT(near_names("zzz", {"priority"}), IsEmpty());
  EXPECT_THAT(near_names("y", {"x", "xy"}), ElementsAre("xy"));
  EXPECT_THAT(near_names("xy", {"x"}), ElementsAre("x"));
}

TEST(NearNames, IgnoresCase) {
  EXPECT_THAT(near_names("GRAPHEXECUTORFACTORY", {"GraphExecutorFactory"}),
              ElementsAre("GraphExecutorFactory"));
}

TEST(DidYouMean, IsAClauseOrEmpty) {
  EXPECT_EQ(did_you_mean("kyes", {"keys", "library"}), ", did you mean \"keys\"");
  EXPECT_EQ(did_you_mean("ab", {"ac", "ad"}), ", did you mean \"ac\" or \"ad\"");
  EXPECT_EQ(did_you_mean("zzzz", {"keys"}), "");
}

TEST(EditDistance, ComparesNamesUpToTheLimit) {
  const std::string longest(256, 'a');

  EXPECT_EQ(edit_distance(longest, longest), 0u);
  EXPECT_EQ(edit_distance(longest + "a", longest), 256u);
  EXPECT_EQ(edit_distance(longest, longest + "a"), 256u);
}

TEST(NearNames, DifferInAThirdOfTheirCharactersButNotInMoreThanThree) {
  EXPECT_THAT(near_names("abcdef", {"xycdef"}), ElementsAre("xycdef"));
  EXPECT_THAT(near_names("abcdef", {"xyzdef"}), IsEmpty());
  EXPECT_THAT(near_names("abcdefghijkl", {"xyzdefghijkl"}), ElementsAre("xyzdefghijkl"));
  EXPECT_THAT(near_names("abcdefghijkl", {"xyzwefghijkl"}), IsEmpty());
}

TEST(NearNames, AreListedOnce) {
  EXPECT_THAT(near_names("abc", {"abd", "abd"}), ElementsAre("abd"));
}

TEST(EditDistance, CountsASwapOnlyIfBothCharactersMatch) {
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("ab", "xa"), 2u);
  EXPECT_EQ(edit_distance("ab", "bx"), 2u);
  EXPECT_EQ(edit_distance("abcd", "d"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
}

}  // namespace
}  // namespace gantry
