// SPDX-License-Identifier: Apache-2.0
//
// Tensor and Any of gantry/embed.hpp.
#include "core/engine/tensor/tensor.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gantry/value.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::digits_file;
using test::make_runtime;
using ::testing::ElementsAre;

TEST(Tensor, ReturnsItsRowsAsViews) {
  Runtime runtime = make_runtime();
  const Tensor whole = runtime.tensor({3, 2}, {0, 32, 1}).value();
  for (int i = 0; i < 6; ++i) whole.elements<int>()[static_cast<std::size_t>(i)] = i;

  EXPECT_THAT(whole.row(1)->elements<int>(), ElementsAre(2, 3));
  EXPECT_EQ(whole.row(3).error().message,
            "row 3 of tensor int32[3, 2] does not exist, the last is 2");
}

TEST(Any, ReportsItsKindIfAnotherKindIsRequested) {
  Runtime runtime = make_runtime();
  const Module model = runtime.load(digits_file()).value();

  const auto json = model.function("get_graph_json").value()();

  EXPECT_EQ(json->integer().error().message, "value is a string, expected an integer");
}

// The view of a tensor has the strides that its maker wrote, also if it is dense.
TEST(Tensor, ReturnsRowsOfATensorWithStrides) {
  std::int32_t elements[] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[] = {3, 2}, strides[] = {2, 1};
  const gantry_tensor what{elements, {1, 0}, 2, {0, 32, 1}, shape, strides, 0};
  const Tensor whole(
      ObjectRef::adopt(reinterpret_cast<gantry_object*>(tensor_view(what, nullptr)->take())));

  EXPECT_THAT(whole.row(2)->elements<std::int32_t>(), ElementsAre(4, 5));
  EXPECT_THAT(whole.row(2)->row(1)->elements<std::int32_t>(), ElementsAre(5));
}

TEST(Tensor, ReturnsNoRowThatItDoesNotHave) {
  Runtime runtime = make_runtime();
  std::int32_t elements[6] = {};
  std::int64_t shape[] = {3, 2}, strides[] = {1, 3};
  const gantry_tensor transposed{elements, {1, 0}, 2, {0, 32, 1}, shape, strides, 0};
  const Tensor sparse(
      ObjectRef::adopt(reinterpret_cast<gantry_object*>(tensor_view(transposed, nullptr)->take())));
  const Tensor scalar = runtime.tensor({}, {0, 32, 1}).value();
  const Tensor whole = runtime.tensor({3, 2}, {0, 32, 1}).value();

  EXPECT_EQ(whole.row(-1).error().message,
            "row -1 of tensor int32[3, 2] does not exist, the last is 2");
  EXPECT_EQ(scalar.row(0).error().message, "tensor int32[] has no first axis");
  EXPECT_EQ(sparse.row(0).error().message, "tensor int32[3, 2] has strides");
}

TEST(Any, ReturnsNumbersOfEachKind) {
  EXPECT_EQ(Any(Value::adopt(int_value(3))).integer().value(), 3);
  EXPECT_EQ(Any(Value::adopt(bool_value(true))).integer().value(), 1);
  EXPECT_EQ(Any(Value::adopt(int_value(3))).number().value(), 3.0);
  EXPECT_EQ(Any(Value::adopt(bool_value(true))).number().value(), 1.0);
  EXPECT_EQ(Any(Value::adopt(float_value(2.5))).number().value(), 2.5);
}

TEST(Any, ReturnsTheItemsOfArraysAndMaps) {
  const gantry_value pair[] = {int_value(3), int_value(4)};
  for (const std::int32_t kind : {GANTRY_ARRAY, GANTRY_MAP}) {
    const Any list(owned_value(new_items(kind, pair).value()));

    const std::vector<Any> items = list.items().value();

    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].integer().value(), 3);
    EXPECT_EQ(items[1].integer().value(), 4);
  }
}

TEST(Any, CreatesTextsShapesAndArrays) {
  const Runtime runtime = make_runtime();
  const Any items[] = {runtime.text("longer than a small text").value(), runtime.text("ab").value(),
                       runtime.shape({3, 0, 5}).value(), Any()};

  const std::vector<Any> made = runtime.array(items).value().items().value();

  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(made[0].text().value(), "longer than a small text");
  EXPECT_EQ(made[1].text().value(), "ab");
  EXPECT_EQ(made[2].shape().value(), (std::vector<std::int64_t>{3, 0, 5}));
  EXPECT_TRUE(made[3].is_none());
}

TEST(Any, SharesTheObjectOfAHandle) {
  Runtime runtime = make_runtime();
  const Tensor tensor = runtime.tensor({2}, {0, 32, 1}).value();
  const auto references = [&] { return tensor.get()->counts & UINT32_MAX; };
  const auto before = references();

  const Any value(tensor);

  EXPECT_EQ(value.tensor()->data(), tensor.data());
  EXPECT_EQ(references(), before + 1);
  EXPECT_TRUE(Any(Tensor()).is_none());
}

TEST(Any, RefusesToCreateAnArrayOfBorrowedTensors) {
  const Runtime runtime = make_runtime();
  gantry_tensor tensor{};
  const Any items[] = {Any(Value::adopt(tensor_ref_value(&tensor)))};

  EXPECT_EQ(runtime.array(items).error().code, Code::invalid);
}

TEST(Any, KeepsAnItemThatItReturns) {
  const Value text = new_text(GANTRY_STRING, "longer than a small text").value();
  const Any list(owned_value(new_items(GANTRY_ARRAY, {&text.get(), 1}).value()));
  const auto references = [&] { return text.get().object->counts & UINT32_MAX; };
  const auto before = references();

  const std::vector<Any> items = list.items().value();

  EXPECT_EQ(references(), before + 1);
}

TEST(Any, RefusesToReturnAnotherKind) {
  const Any number(Value::adopt(float_value(2.5))), none;

  EXPECT_EQ(number.integer().error().message, "value is a float, expected an integer");
  EXPECT_EQ(none.number().error().message, "value is none, expected a number");
  EXPECT_EQ(number.text().error().message, "value is a float, expected a string");
  EXPECT_EQ(number.tensor().error().message, "value is a float, expected a tensor");
  EXPECT_EQ(number.function().error().message, "value is a float, expected a function");
  EXPECT_EQ(number.module().error().message, "value is a float, expected a module");
  EXPECT_EQ(number.items().error().message, "value is a float, expected an array or a map");
  EXPECT_EQ(number.shape().error().message, "value is a float, expected a shape");
  EXPECT_EQ(number.items().error().reason, "VALUE_KIND");
}

}  // namespace
}  // namespace gantry
