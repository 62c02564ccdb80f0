// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/weight_names.hpp"

#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <string>

namespace gantry::cli {
namespace {

using test::replaced;
using test::small_index;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "a" is float32[3], "b" is float32[4].
WeightDirectory directory_of(const std::string& index = small_index) {
  return {"d.weights", "tensor-cache.json", parse_weight_index(index).value()};
}

WeightDirectory named(const std::string& a, const std::string& b) {
  return directory_of(replaced(replaced(small_index, R"("name": "a")", R"("name": ")" + a + "\""),
                               R"("name": "b")", R"("name": ")" + b + "\""));
}

std::optional<TensorType> float32_of(std::vector<std::int64_t> shape) {
  return TensorType{dtypes::float32, std::move(shape)};
}

ModelParam param(std::string name, gantry_dtype dtype, std::vector<std::int64_t> shape,
                 std::string text) {
  return {std::move(name), {dtype, std::move(shape)}, std::move(text)};
}

TEST(WeightNames, FindTheWeightOfAnInput) {
  const WeightDirectory directory = named("fc1.weight", "fc1_weight");
  const WeightDirectory other = named("fc1.weight", "fc2:bias");

  EXPECT_EQ(WeightNames(directory).of_input("fc1_weight", {}, {}).value(), "fc1_weight");
  EXPECT_EQ(WeightNames(other).of_input("fc1_weight", {}, {}).value(), "fc1.weight");
  EXPECT_EQ(WeightNames(other).of_input("fc2_bias", {}, {}).value(), "fc2:bias");
  EXPECT_EQ(WeightNames(other).of_input("fc2.bias", {}, {}).value(), "");
}

TEST(WeightNames, RefuseAnInputThatIsAnyOfSeveral) {
  const WeightDirectory directory = named("fc1.weight", "fc1-weight");

  const auto found = WeightNames(directory).of_input("fc1_weight", {}, {});

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::invalid);
  EXPECT_EQ(found.error().message,
            R"(input "fc1_weight" is any of 2 weights: "fc1.weight", "fc1-weight")");
}

TEST(WeightNames, RefuseAWeightOfAnotherTypeThanItsInput) {
  const WeightDirectory directory = directory_of();

  EXPECT_EQ(WeightNames(directory).of_input("b", float32_of({4}), "float32[4]").value(), "b");
  EXPECT_EQ(WeightNames(directory).of_input("b", float32_of({-1}), "float32[n]").value(), "b");
  const auto found = WeightNames(directory).of_input("b", float32_of({2, 2}), "float32[2, 2]");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::invalid);
  EXPECT_EQ(found.error().message,
            R"(weight "b" of "d.weights" is float32[4], expected float32[2, 2] as input "b": )"
            "select the directory of weights that was made for this model");
}

TEST(WeightNames, AreInTheOrderOfTheMetadata) {
  const WeightDirectory directory = directory_of();
  const std::vector<ModelParam> params{param("b", dtypes::float32, {-1}, "float32[n]"),
                                       param("a", dtypes::float32, {3}, "float32[3]"),
                                       param("b", dtypes::float32, {4}, "float32[4]")};

  EXPECT_THAT(WeightNames(directory).of_params(params).value(), ElementsAre("b", "a", "b"));
}

TEST(WeightNames, RefuseMetadataWhoseWeightsAreAbsent) {
  const WeightDirectory directory = directory_of();
  const std::vector<ModelParam> params{param("c", dtypes::float32, {4}, ""),
                                       param("a", dtypes::float32, {3}, ""),
                                       param("d\n", dtypes::float32, {4}, "")};

  const auto names = WeightNames(directory).of_params(params);

  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.error().code, Code::invalid);
  EXPECT_EQ(names.error().message,
            R"("d.weights" lacks 2 of the 3 weights in the model's metadata: "c", "d\n"; it has )"
            R"("a", "b": select the directory of weights that was made for this model)");
}

struct OtherType {
  std::string name;
  gantry_dtype dtype;
  std::vector<std::int64_t> shape;
  std::string text;
};
class WeightNamesType : public ::testing::TestWithParam<OtherType> {};

TEST_P(WeightNamesType, IsThatOfTheMetadata) {
  const WeightDirectory directory = directory_of();
  const OtherType& type = GetParam();

  const auto names =
      WeightNames(directory).of_params({{param("a", type.dtype, type.shape, type.text)}});

  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.error().code, Code::invalid);
  EXPECT_EQ(names.error().message.text(),
            R"(weight "a" of "d.weights" is float32[3], expected )" + type.text +
                " in the model's metadata: select the directory of weights that was made for "
                "this model");
}

INSTANTIATE_TEST_SUITE_P(
    Other, WeightNamesType,
    ::testing::Values(OtherType{"Dtype", dtypes::int32, {3}, "int32[3]"},
                      OtherType{"Extent", dtypes::float32, {4}, "float32[4]"},
                      OtherType{"Rank", dtypes::float32, {}, "float32[]"},
                      OtherType{"Dimensions", dtypes::float32, {3, -1}, "float32[3, n]"}),
    [](const auto& test) { return test.param.name; });

// The last record of a name counts.
TEST(WeightNames, HaveTheTypeOfTheLastRecord) {
  const WeightDirectory directory = named("a", "a");

  EXPECT_TRUE(
      WeightNames(directory).of_params({{param("a", dtypes::float32, {4}, "float32[4]")}}).ok());
}

TEST(WeightNames, AreNumberedUntilTheFirstThatIsAbsent) {
  const WeightDirectory both = named("param_1", "param_0"), second = named("param_1", "param_2"),
                        first = named("param_2", "param_0");

  EXPECT_THAT(WeightNames(both).numbered(), ElementsAre("param_0", "param_1"));
  EXPECT_THAT(WeightNames(first).numbered(), ElementsAre("param_0"));
  EXPECT_THAT(WeightNames(second).numbered(), IsEmpty());
}

TEST(WeightNames, AreListed) {
  const WeightDirectory directory = directory_of(), empty = directory_of(R"({"records": []})");

  EXPECT_EQ(WeightNames(directory).text(), R"("a", "b")");
  EXPECT_EQ(WeightNames(empty).text(), "none");
}

}  // namespace
}  // namespace gantry::cli
