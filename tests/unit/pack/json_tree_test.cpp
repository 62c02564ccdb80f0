// SPDX-License-Identifier: Apache-2.0
#include "core/pack/json_tree.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(JsonTree, GivesEveryKindOfValue) {
  const auto tree = JsonTree::parse(
      R"({"none": null, "yes": true, "less": -3, "zero": -0, "most": 18446744073709551615, "half": 0.5, "text": "a",
          "list": [1, [2], {}], "record": {"inner": "b"}})");
  ASSERT_TRUE(tree.has_value());
  const JsonValue root = tree->root();

  EXPECT_EQ(root.size(), 9u);
  EXPECT_TRUE(root.find("none")->is(JsonKind::null));
  EXPECT_TRUE(root.find("yes")->is(JsonKind::boolean));
  EXPECT_TRUE(root.find("less")->is(JsonKind::negative));
  EXPECT_EQ(root.find("less")->integer(), -3);
  EXPECT_TRUE(root.find("zero")->is(JsonKind::negative)) << "a sign makes it none";
  EXPECT_TRUE(root.find("most")->is(JsonKind::count));
  EXPECT_EQ(root.find("most")->count(), UINT64_MAX);
  EXPECT_TRUE(root.find("half")->is(JsonKind::fraction));
  EXPECT_EQ(root.find("text")->text(), "a");
  const JsonValue list = root.find("list").value();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].count(), 1u);
  EXPECT_EQ(list[1][0].count(), 2u);
  EXPECT_TRUE(list[2].is(JsonKind::object));
  EXPECT_EQ(list[2].size(), 0u);
  EXPECT_EQ(root.find("record")->find("inner")->text(), "b");
}

TEST(JsonTree, FindsNothingWhereThereIsNone) {
  const auto tree = JsonTree::parse(R"([{"a": 1}])");

  EXPECT_FALSE(tree->root().find("a").has_value());
  EXPECT_FALSE(tree->root()[0].find("b").has_value());
}

TEST(JsonTree, TakesTheLastOfTwoMembersOfOneName) {
  EXPECT_EQ(JsonTree::parse(R"({"a": 1, "b": 2, "a": 3})")->root().find("a")->count(), 3u);
}

TEST(JsonTree, IsNothingOfWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "[1] 2", "1e400", "\"\xff\"", "nul"})
    EXPECT_FALSE(JsonTree::parse(text).has_value()) << text;
}

// A tree that nests would need a stack as deep to be taken down.
TEST(JsonTree, TakesAnyDepth) {
  constexpr std::size_t depth = 1'000'000;
  const auto tree = JsonTree::parse(std::string(depth, '[') + std::string(depth, ']'));

  ASSERT_TRUE(tree.has_value());
  std::size_t levels = 1;
  for (JsonValue value = tree->root(); value.size() == 1; value = value[0]) ++levels;
  EXPECT_EQ(levels, depth);
}

TEST(JsonKind, IsNamedAsInMessages) {
  EXPECT_EQ(name_of(JsonKind::null), "null");
  EXPECT_EQ(name_of(JsonKind::boolean), "boolean");
  EXPECT_EQ(name_of(JsonKind::negative), "number");
  EXPECT_EQ(name_of(JsonKind::count), "number");
  EXPECT_EQ(name_of(JsonKind::fraction), "number");
  EXPECT_EQ(name_of(JsonKind::text), "string");
  EXPECT_EQ(name_of(JsonKind::array), "array");
  EXPECT_EQ(name_of(JsonKind::object), "object");
}

}  // namespace
}  // namespace gantry
