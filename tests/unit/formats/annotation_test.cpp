// SPDX-License-Identifier: Apache-2.0
#include "core/formats/annotation.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Annotation, HasExtentsAndTheirSymbols) {
  const auto tensor =
      tensor_annotation(R"x(R.Tensor((n, 1, T.int64(8), T.min(n, 3) - 1), dtype="float32"))x");

  ASSERT_TRUE(tensor);
  EXPECT_TRUE(same_dtype(tensor->type.dtype, dtypes::float32));
  EXPECT_THAT(tensor->type.shape, ElementsAre(-1, 1, 8, -1));
  EXPECT_EQ(tensor->text, "float32[n, 1, 8, T.min(n, 3) - 1]");
  EXPECT_THAT(tensor->extents, ElementsAre("n", "", "", "T.min(n, 3) - 1"));
}

TEST(Annotation, HasNoNameForANegativeExtent) {
  const auto tensor = tensor_annotation(R"x(R.Tensor((-1, T.int64(-2)), dtype="int8"))x");

  ASSERT_TRUE(tensor);
  EXPECT_THAT(tensor->type.shape, ElementsAre(-1, -1));
  EXPECT_THAT(tensor->extents, ElementsAre("", ""));
  EXPECT_EQ(tensor->text, "int8[-1, T.int64(-2)]");
}

TEST(Annotation, MayBeOfOneAxisOrOfNone) {
  const auto one = tensor_annotation(R"x(R.Tensor((32,), dtype="bfloat16"))x");
  const auto none = tensor_annotation(R"x(R.Tensor((), dtype="int64"))x");

  ASSERT_TRUE(one && none);
  EXPECT_THAT(one->type.shape, ElementsAre(32));
  EXPECT_EQ(one->text, "bfloat16[32]");
  EXPECT_THAT(none->type.shape, IsEmpty());
  EXPECT_EQ(none->text, "int64[]");
}

TEST(Annotation, OfABooleanHasOneByte) {
  const auto tensor = tensor_annotation(R"x(R.Tensor((2,), dtype="bool"))x");

  ASSERT_TRUE(tensor);
  EXPECT_EQ(element_bytes(tensor->type.dtype), 1u);
  EXPECT_EQ(dtype_text(tensor->type.dtype), "bool8");
  EXPECT_EQ(tensor->text, "bool[2]");
}

TEST(Annotation, OfAnythingElseIsNoTensorAnnotation) {
  for (const std::string_view text :
       {"", "R.Tensor", "R.Tensor((", R"x(R.Tensor((1,), dtype="))x", R"x(R.Tensor((), dtype=")x",
        R"x(R.Tensor((1,), dtype="posit32"))x", R"x(R.Tensor(dtype="float32", ndim=2))x",
        R"x(T.Tuple(R.Tensor((1,), dtype="float32")))x", "R.Shape([n])", "T.int64"}) {
    EXPECT_FALSE(tensor_annotation(text)) << text;
  }
}

TEST(Annotation, ShowsWhetherAValueIsATuple) {
  for (const std::string_view text : {"T.Tuple(R.Any)", "R.Tuple()"})
    EXPECT_TRUE(is_tuple(text)) << text;
  for (const std::string_view text : {"", "R.Any", "Tuple()", R"x(R.Tensor((1,), dtype="int8"))x"})
    EXPECT_FALSE(is_tuple(text)) << text;
}

TEST(Annotation, OfATupleHasItems) {
  EXPECT_THAT(tuple_items("R.Tuple()"), IsEmpty());
  EXPECT_THAT(tuple_items(R"x(T.Tuple(R.Tensor((n, 2), dtype="int8"), R.Tuple(R.Any, R.Any)))x"),
              ElementsAre(R"x(R.Tensor((n, 2), dtype="int8"))x", "R.Tuple(R.Any, R.Any)"));
  EXPECT_THAT(tuple_items("T.Tuple("), IsEmpty()) << "without its end";
}

TEST(Annotation, OfAShapeHasExtents) {
  const auto shape = shape_annotation("R.Shape([n, T.int64(8), 4, T.max(n, k)])");

  ASSERT_TRUE(shape);
  EXPECT_THAT(shape->shape, ElementsAre(-1, 8, 4, -1));
  EXPECT_THAT(shape->extents, ElementsAre("n", "", "", "T.max(n, k)"));
  EXPECT_THAT(shape_annotation("R.Shape([])")->shape, IsEmpty());
  for (const std::string_view text : {"R.Shape([)", "R.Shape(ndim=2)", "R.Shape", "R.Any", ""})
    EXPECT_FALSE(shape_annotation(text)) << text;
}

TEST(Annotation, OfATupleHasItemsAlsoThoseOfNestedTuples) {
  const std::string nested =
      R"x(T.Tuple(R.Tensor((n, 2), dtype="int8"), R.Tuple(R.Any), R.Tuple()))x";
  const std::string much = concat("R.Tuple(", std::string(16384, 'x'), ")");

  EXPECT_THAT(flat_annotations(nested),
              ::testing::ElementsAre(R"x(R.Tensor((n, 2), dtype="int8"))x", "R.Any"));
  EXPECT_THAT(flat_annotations("R.Any"), ::testing::ElementsAre("R.Any"));
  EXPECT_THAT(flat_annotations("R.Tuple(R.Any"), ::testing::ElementsAre("R.Tuple(R.Any"));
  EXPECT_THAT(flat_annotations("R.Tuple()"), ::testing::IsEmpty());
  EXPECT_THAT(flat_annotations(much), ::testing::ElementsAre(much));
}

TEST(Annotation, IsStatedByTheConstantOfACheck) {
  const auto param = stated_annotation(
      "ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((1, 64), dtype=\"int8\"))");
  const auto result = stated_annotation("ErrorContext(fn=f, loc=return, annotation=R.Any) ");

  ASSERT_TRUE(param && result);
  EXPECT_EQ(param->function, "main");
  EXPECT_EQ(param->param, "x");
  EXPECT_EQ(param->type, "R.Tensor((1, 64), dtype=\"int8\")");
  EXPECT_EQ(result->function, "f");
  EXPECT_EQ(result->param, "");
  EXPECT_EQ(result->type, "R.Any");
}

TEST(Annotation, IsStatedByNoOtherConstant) {
  for (const std::string_view text :
       {"", "main", "ErrorContext(fn=main", "ErrorContext(fn=main, loc=return",
        "ErrorContext(fn=main, loc=param[0], annotation=R.Any)",
        "ErrorContext(fn=main, loc=return, annotation=R.Any",
        "ErrorContext(fn=main, loc=return, R.Any)"})
    EXPECT_FALSE(stated_annotation(text)) << text;
}

TEST(Annotation, IsShownUpToALength) {
  const std::string longest(240, 'x');

  EXPECT_EQ(shown_annotation(longest), longest);
  EXPECT_EQ(shown_annotation(longest + "y"), longest + "...");
}

TEST(Annotation, ShowsWhetherATensorIsAccepted) {
  for (const std::string_view text : {"", "R.Any", "R.Object", R"x(R.Tensor(dtype="float32"))x"})
    EXPECT_TRUE(accepts_tensor(text)) << text;
  for (const std::string_view text : {"R.Shape([n])", "T.int64", "T.Tuple(R.Any)", "R.Tuple()"})
    EXPECT_FALSE(accepts_tensor(text)) << text;
}

}  // namespace
}  // namespace gantry
