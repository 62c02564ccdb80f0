// SPDX-License-Identifier: Apache-2.0
#include "core/base/warning_list.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(WarningList, ReturnsTheWarningsThatWereAdded) {
  WarningList warnings;
  warnings.add("one");
  warnings.add("two");

  EXPECT_THAT(warnings.take(), ElementsAre("one", "two"));
}

TEST(WarningList, CountsWarningsBeyondTheLimit) {
  WarningList warnings;
  for (std::size_t i = 0; i < WarningList::max + 7; ++i) warnings.add("same");

  const std::vector<Message> taken = warnings.take();

  EXPECT_THAT(taken, SizeIs(WarningList::max + 1));
  EXPECT_EQ(taken.back(), "and 7 more warnings");
}

}  // namespace
}  // namespace gantry
