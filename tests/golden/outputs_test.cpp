// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/outputs.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/value.hpp>

#include <gmock/gmock.h>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OutputsOfRuns : public ::testing::Test {
 protected:
  NamedValue floats(const std::string& name, std::initializer_list<std::int64_t> shape, float value,
                    gantry_dtype dtype = dtypes::float32) {
    const Tensor made = runtime_.tensor(shape, dtype).value();
    for (float& element : made.elements<float>()) element = value;
    return {name, Any(made)};
  }
  static NamedValue number(std::int64_t value) {
    return {"n", Any(Value::adopt(int_value(value)))};
  }

  Runtime runtime_ = Runtime::create({.only_these_plugins = true}).value();
};

TEST_F(OutputsOfRuns, AreRowsOfOneArray) {
  Outputs outputs(runtime_, true, 2);

  ASSERT_TRUE(outputs.add(0, std::vector{floats("y", {3}, 1), number(4)}).ok());
  ASSERT_TRUE(outputs.add(1, std::vector{floats("y", {3}, 2), number(5)}).ok());

  const std::vector<CpuArray> arrays = outputs.take_arrays();
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_THAT(arrays[0].tensor.shape(), ElementsAre(2, 3));
  EXPECT_THAT(arrays[0].tensor.elements<float>(), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(arrays[1].tensor.elements<std::int64_t>(), ElementsAre(4, 5));
}

TEST_F(OutputsOfRuns, MustHaveOneTypeAsRowsOfAnArray) {
  for (const auto& [second, found] :
       {std::pair{floats("y", {3, 1}, 2), "float32[3, 1], expected float32[3] as in run 0"},
        {floats("y", {3}, 2, dtypes::int32), "int32[3], expected float32[3] as in run 0"}}) {
    Outputs outputs(runtime_, true, 2);
    ASSERT_TRUE(outputs.add(0, std::vector{floats("y", {3}, 1)}).ok());

    const Status added = outputs.add(1, std::vector{second});

    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, Code::invalid);
    EXPECT_THAT(added.error().message, HasSubstr(concat("output \"y\" of run 1 is ", found)));
  }
}

TEST_F(OutputsOfRuns, MustHaveOneNumberAsRowsOfAnArray) {
  const std::vector one{floats("y", {1}, 1)};
  const std::vector two{floats("y", {1}, 1), floats("z", {1}, 1)};
  Outputs fewer(runtime_, true, 2), more(runtime_, true, 2);
  ASSERT_TRUE(fewer.add(0, two).ok());
  ASSERT_TRUE(more.add(0, one).ok());

  const Status without = fewer.add(1, one);
  const Status with = more.add(1, two);

  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message,
              HasSubstr("run 1 has 1 outputs that are arrays, run 0 has 2"));
  ASSERT_FALSE(with.ok());
  EXPECT_THAT(with.error().message, HasSubstr("expected no such output as in run 0"));
}

TEST_F(OutputsOfRuns, AreTextsForOtherValues) {
  Outputs outputs(runtime_);

  ASSERT_TRUE(outputs
                  .add(0, std::vector{NamedValue{"s", runtime_.shape({2, 3}).value()},
                                      NamedValue{"t", runtime_.text("a\n").value()},
                                      NamedValue{"u", Any()}})
                  .ok());

  EXPECT_THAT(outputs.take_arrays(), IsEmpty());
  std::vector<std::string> texts;
  for (const NamedText& each : outputs.take_texts()) texts.push_back(each.name + "=" + each.text);
  EXPECT_THAT(texts, ElementsAre("s=shape [2, 3]", "t=\"a\\n\"", "u=none"));
}

TEST(NamedItems, AreThoseOfNestedTuplesInOrder) {
  const Runtime runtime = Runtime::create({.only_these_plugins = true}).value();
  const auto number = [](std::int64_t value) { return Any(Value::adopt(int_value(value))); };
  const auto tuple = [&](std::vector<Any> items) { return runtime.array(items).value(); };
  const Any nested = tuple({number(0), tuple({number(1), tuple({}), number(2)}), number(3)});

  const auto items = named_items(nested, "y").value();
  const auto one = named_items(tuple({number(7)}), "y").value();

  ASSERT_EQ(items.size(), 4u);
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].name, concat("y", i));
    EXPECT_EQ(items[i].value.integer().value(), static_cast<std::int64_t>(i));
  }
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, "y");
}

// Each tuple contains the one before twice, so that there are 2^60 empty ones.
TEST(NamedItems, AreLimitedForTuplesThatRepeat) {
  const Runtime runtime = Runtime::create({.only_these_plugins = true}).value();
  Any value = runtime.array({}).value();
  for (int i = 0; i < 60; ++i) value = runtime.array({value, value}).value();

  const auto items = named_items(value, "y");

  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().code, Code::exhausted);
  EXPECT_EQ(items.error().message, "the result has more than 65536 items, the limit");
}

}  // namespace
}  // namespace gantry::cli
