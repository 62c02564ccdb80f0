// SPDX-License-Identifier: Apache-2.0
#include <gantry/subgraph_attributes.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SubgraphNode conv() {
  SubgraphNode node;
  node.name = "nn.conv2d";
  node.at = 40;
  node.attributes = {{"groups", {"2"}},        {"epsilon", {"1.0000000000000001e-05"}},
                     {"scale", {"1"}},         {"layout", {"NCHW"}},
                     {"strides", {"2", "-3"}}, {"axis", {""}}};
  return node;
}

TEST(SubgraphAttributes, AreNumbersAndTexts) {
  const SubgraphNode node = conv();
  const SubgraphAttributes attributes(node);

  EXPECT_EQ(attributes.integer("groups").value(), 2);
  EXPECT_EQ(attributes.real("epsilon").value(), 1e-5f);
  EXPECT_TRUE(attributes.truth("scale").value());
  EXPECT_EQ(attributes.text("layout").value(), "NCHW");
  EXPECT_THAT(attributes.integers("strides").value(), ElementsAre(2, -3));
  EXPECT_THAT(attributes.integers("strides", 2).value(), ElementsAre(2, -3));
  EXPECT_THAT(attributes.integers("axis").value(), IsEmpty());
}

TEST(SubgraphAttributes, HaveDefaultsWhereTheyAreAbsent) {
  const SubgraphNode node = conv();
  const SubgraphAttributes attributes(node);

  EXPECT_FALSE(attributes.has("none"));
  EXPECT_EQ(attributes.integer("none", -1).value(), -1);
  EXPECT_EQ(attributes.real("none", 0.5f).value(), 0.5f);
  EXPECT_TRUE(attributes.truth("none", true).value());
  EXPECT_EQ(attributes.text("none", "NCHW").value(), "NCHW");
}

template <class T>
void expect_refusal(const Result<T>& result, std::string_view message) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::malformed);
  EXPECT_EQ(result.error().reason, "SUBGRAPH");
  EXPECT_EQ(result.error().offset, 40u);
  EXPECT_EQ(result.error().message, concat("operator \"nn.conv2d\": attribute ", message));
}

TEST(SubgraphAttributes, AreRefusedByNameWhereTheFormDiffers) {
  const SubgraphNode node = conv();
  const SubgraphAttributes attributes(node);

  expect_refusal(attributes.integer("none"), R"("none" is absent)");
  expect_refusal(attributes.text("none"), R"("none" is absent)");
  expect_refusal(attributes.integers("none"), R"("none" is absent)");
  expect_refusal(attributes.integer("strides"), R"("strides" has 2 values, expected 1)");
  expect_refusal(attributes.integers("strides", 3), R"("strides" has 2 numbers, expected 3)");
  expect_refusal(attributes.integer("layout"), R"("layout" is "NCHW", expected a whole number)");
  expect_refusal(attributes.integer("epsilon"),
                 R"("epsilon" is "1.0000000000000001e-05", expected a whole number)");
  expect_refusal(attributes.real("layout"), R"("layout" is "NCHW", expected a number)");
  expect_refusal(attributes.truth("groups"), R"("groups" is 2, expected 0 or 1)");
  expect_refusal(attributes.integers("layout"), R"("layout" is "NCHW", expected a whole number)");
}

TEST(SubgraphAttributes, AreUnsupportedByName) {
  const SubgraphNode node = conv();

  const Failure failure = SubgraphAttributes(node).refuse_support("axis", " is 3, supported is 1");

  EXPECT_EQ(failure.error().code, Code::unsupported);
  EXPECT_EQ(failure.error().reason, "SUBGRAPH_OPERATOR");
  EXPECT_EQ(failure.error().message,
            R"(operator "nn.conv2d": attribute "axis" is 3, supported is 1)");
}

}  // namespace
}  // namespace gantry
