// SPDX-License-Identifier: Apache-2.0
#include <gantry/join.hpp>

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

struct Item {
  std::string name;
};

TEST(Join, SeparatesItemsByCommas) {
  EXPECT_EQ(join(std::vector<std::string>{}), "");
  EXPECT_EQ(join(std::vector<std::string_view>{"a"}), "a");
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}), "a, b");
  EXPECT_EQ(join(std::vector<int>{1, -2}, "; "), "1; -2");
}

TEST(Join, TakesTheTextOfEachItemFromAFunctionOrMember) {
  const std::vector<Item> items{{"a"}, {"b"}};

  EXPECT_EQ(join(items, ", ", &Item::name), "a, b");
  EXPECT_EQ(join(items, ", ", [](const Item& item) { return item.name + "!"; }), "a!, b!");
}

TEST(Join, CountsTheItemsBeyondTheMaximum) {
  const std::vector<std::string_view> names{"a", "b", "c"};

  EXPECT_EQ(join(names, ", ", in_quotes, 3), R"("a", "b", "c")");
  EXPECT_EQ(join(names, ", ", in_quotes, 1), R"("a" and 2 more)");
}

}  // namespace
}  // namespace gantry
