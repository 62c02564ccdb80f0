// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/contrib/functions.hpp"

#include <gantry/half.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

namespace gantry::contrib::test {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class Sorting : public Functions {};

TEST_F(Sorting, OrdersTheLastAxis) {
  Floats x = floats({2, 3}, {3, 1, 2, 9, 7, 8}), y = floats({2, 3}, std::vector<float>(6));

  done("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(-1), bool_value(true)});

  EXPECT_THAT(y.data, ElementsAre(1, 2, 3, 7, 8, 9));
}

TEST_F(Sorting, OrdersAnotherAxisDescending) {
  Floats x = floats({2, 3}, {3, 1, 2, 9, 0, 8}), y = floats({2, 3}, std::vector<float>(6));

  done("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), bool_value(false)});

  EXPECT_THAT(y.data, ElementsAre(9, 1, 8, 3, 0, 2));
}

TEST_F(Sorting, KeepsTheOrderOfEqualElements) {
  Floats x = floats({4}, {1, 0, 1, 0});
  auto up = integers({4}, {9, 9, 9, 9}), down = integers({4}, {9, 9, 9, 9});

  done("tvm.contrib.sort.argsort", {x.value(), up.value(), int_value(0), bool_value(true)});
  done("tvm.contrib.sort.argsort", {x.value(), down.value(), int_value(0), bool_value(false)});

  EXPECT_THAT(up.data, ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(down.data, ElementsAre(0, 2, 1, 3));
}

TEST_F(Sorting, DoesNothingForAnyNumberOfListsWithoutElements) {
  const std::int64_t many = std::int64_t{1} << 40;
  for (const auto& shape : {std::vector<std::int64_t>{many, 0}, {many, many, 0}, {0, many, many}}) {
    Floats x = floats(shape, {}), y = floats(shape, {});
    auto order = integers(shape, {});

    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
      done("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(axis), bool_value(true)});
      done("tvm.contrib.sort.argsort",
           {x.value(), order.value(), int_value(axis), bool_value(true)});
    }
  }
}

TEST_F(Sorting, EndsWithItsTask) {
  Floats x = floats({2, 3}, {3, 1, 2, 9, 7, 8}), y = floats({2, 3}, std::vector<float>(6));
  const int task = 0;
  env = {gantry::test::cpu, nullptr, &task};
  fake.cancelled = true;

  const Error error =
      error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(1), bool_value(true)});

  EXPECT_EQ(error.code, Code::cancelled);
  EXPECT_EQ(error.message, "run is cancelled");
  EXPECT_THAT(y.data, ::testing::Each(0));
}

TEST_F(Sorting, OrdersListsOfAnyLengthAndKeepsTheOrderOfEqualElements) {
  for (const std::int32_t count : {1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 1000}) {
    Floats x = floats({count}, std::vector<float>(static_cast<std::size_t>(count)));
    for (std::int32_t i = 0; i < count; ++i)
      x.data[static_cast<std::size_t>(i)] = static_cast<float>(i * 7919 % 10);
    auto order = integers({count}, std::vector<std::int32_t>(x.data.size()));

    done("tvm.contrib.sort.argsort", {x.value(), order.value(), int_value(0), bool_value(true)});

    std::vector<std::int32_t> expected(x.data.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::stable_sort(expected, {},
                             [&](std::int32_t i) { return x.data[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(order.data, expected) << count;
  }
}

// A list may have as many elements as memory: its records, and as many to move them to.
TEST_F(Sorting, CountsItsMemory) {
  const std::int64_t count = 1 << 14;
  Floats x = floats({count}, std::vector<float>(count)), y = floats({count}, x.data);
  const auto result_with = [&](std::uint64_t limit) {
    Plugin limited(Host(fake.table()), limit);
    const std::vector<gantry_value> args = {x.value(), y.value(), int_value(0), bool_value(true)};
    return limited.named_functions().at("tvm.contrib.sort.sort").call({{}, &env, args});
  };

  EXPECT_TRUE(result_with(2 * count * sizeof(std::int64_t) + 4096).ok());
  EXPECT_EQ(fake.live_objects(), 0);
  const auto refused = result_with(2 * count * sizeof(std::int64_t) - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "MEMORY_LIMIT");
  EXPECT_EQ(fake.error_kinds.back(), "InternalError");
}

// A list may have as many elements as memory.
TEST_F(Sorting, EndsWithItsTaskWithinAList) {
  const std::int64_t count = 1 << 14;
  Floats x = floats({count}, std::vector<float>(count)), y = floats({count}, x.data);
  for (std::int64_t i = 0; i < count; ++i) x.data[i] = static_cast<float>(i * 7919 % count);
  fake.cancelled_after_polls = 2;
  const int task = 0;
  env = {gantry::test::cpu, nullptr, &task};

  const Error error =
      error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), bool_value(true)});

  EXPECT_EQ(error.code, Code::cancelled);
  EXPECT_EQ(fake.polls, 3u);
}

TEST_F(Sorting, PlacesNanAfterEveryNumber) {
  Floats x = floats({3}, {NAN, INFINITY, 1});
  auto order = integers({3}, {9, 9, 9});

  done("tvm.contrib.sort.argsort", {x.value(), order.value(), int_value(0), bool_value(true)});

  EXPECT_THAT(order.data, ElementsAre(2, 1, 0));
}

TEST_F(Sorting, ReturnsTheFirstOfEachList) {
  Floats x = floats({2, 3}, {3, 1, 2, 7, 9, 8}), values = floats({2, 2}, std::vector<float>(4));
  auto indices = integers({2, 2}, {9, 9, 9, 9});

  done("tvm.contrib.sort.topk", {x.value(), values.value(), indices.value(), int_value(2),
                                 int_value(1), text("both"), bool_value(false)});

  EXPECT_THAT(values.data, ElementsAre(3, 2, 9, 8));
  EXPECT_THAT(indices.data, ElementsAre(0, 2, 1, 2));
}

TEST_F(Sorting, ReturnsIndicesAlone) {
  Floats x = floats({3}, {3, 1, 2});
  auto indices = integers({3}, {9, 9, 9});

  done("tvm.contrib.sort.topk",
       {x.value(), indices.value(), int_value(0), int_value(0), text("indices"), bool_value(true)});

  EXPECT_THAT(indices.data, ElementsAre(1, 2, 0));
}

TEST_F(Sorting, RefusesAnAxisThatTheTensorDoesNotHave) {
  Floats x = floats({2}, {3, 1}), y = floats({2}, {0, 0});

  for (const std::int64_t axis : {-2, 1}) {
    const Error error =
        error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(axis), int_value(1)});
    EXPECT_EQ(error.message, concat("axis is ", axis, ", the tensor has 1 dimensions"));
    EXPECT_EQ(fake.error_kinds.back(), "ValueError");
  }
}

TEST_F(Sorting, RefusesATensorWhoseNumberOfElementsOverflows) {
  const std::int64_t shape[] = {2, std::int64_t{1} << 51, std::int64_t{1} << 60};
  float element = 0;
  gantry_tensor x = compact_tensor(dtypes::float32, shape, gantry::test::cpu, &element);

  const Error error = error_of("tvm.contrib.sort.sort", {tensor_ref_value(&x), tensor_ref_value(&x),
                                                         int_value(0), bool_value(true)});

  EXPECT_EQ(error.reason, "SHAPE");
  EXPECT_EQ(error.message, "dimension 2 is 1152921504606846976, room for 2047");
}

TEST_F(Sorting, RefusesAnOutputOfAnotherShape) {
  Floats x = floats({2}, {3, 1}), y = floats({1}, {0});

  EXPECT_THAT(
      error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), int_value(1)}).message,
      StartsWith("sort(x, out, axis, ascending): argument 1 (out) is a tensor"));
}

TEST_F(Sorting, RefusesAnOutputOfAnotherType) {
  Floats x = floats({1}, {3});
  auto y = integers({1}, {0});

  EXPECT_THAT(
      error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), int_value(1)}).message,
      StartsWith("sort(x, out, axis, ascending): argument 1 (out) is a tensor"));
}

TEST_F(Sorting, RefusesElementsOfOtherTypes) {
  Floats x = floats({1}, {3}), y = floats({1}, {0});
  x.tensor.dtype = y.tensor.dtype = {2, 8, 1};

  EXPECT_EQ(
      error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), int_value(1)}).message,
      "sorting of elements of type float8 is not supported");
  EXPECT_EQ(fake.error_kinds.back(), "TypeError");
}

TEST_F(Sorting, RefusesAnotherWordForTheOutputs) {
  Floats x = floats({1}, {3}), y = floats({1}, {0});

  EXPECT_THAT(error_of("tvm.contrib.sort.topk", {x.value(), y.value(), int_value(1), int_value(0),
                                                 text("all"), int_value(1)})
                  .message,
              StartsWith("topk(x, out, ..., k, axis, what, ascending): argument 4"));
}

// Radix sort begins at some hundred elements; pieces of it run in parallel from 2^14 on.
template <class T>
class SortedType : public Functions {};

struct HalfNumber {
  static constexpr gantry_dtype dtype = dtypes::float16;
  using Bits = std::uint16_t;
  static Bits bits_of(int number) { return half_of(number / 8.0); }
  static double value_of(Bits bits) { return float_of_half(bits); }
};
template <class T, gantry_dtype type>
struct PlainNumber {
  static constexpr gantry_dtype dtype = type;
  using Bits = T;
  static T bits_of(int number) { return static_cast<T>(number); }
  static T value_of(T number) { return number; }
};
TYPED_TEST_SUITE_P(SortedType);

TYPED_TEST_P(SortedType, IsStableInBothDirections) {
  using Bits = typename TypeParam::Bits;
  std::mt19937 random(7);
  for (const std::int64_t size : {1, 2, 95, 96, 97, 300, 40'000}) {
    std::vector<Bits> elements;
    for (std::int64_t i = 0; i < size; ++i) {
      const int number = static_cast<int>(random() % 200);
      elements.push_back(TypeParam::bits_of(
          std::is_unsigned_v<Bits> && sizeof(Bits) == 1 ? number : number - 100));
    }
    Numbers<Bits> x({size}, elements, TypeParam::dtype), y({size}, elements, TypeParam::dtype);
    auto order = integers({size}, std::vector<std::int32_t>(elements.size()));
    for (const bool ascending : {true, false}) {
      const gantry_value axis = int_value(-1), direction = bool_value(ascending);
      this->done("tvm.contrib.sort.sort", {x.value(), y.value(), axis, direction});
      this->done("tvm.contrib.sort.argsort", {x.value(), order.value(), axis, direction});

      std::vector<std::int32_t> expected(elements.size());
      std::iota(expected.begin(), expected.end(), 0);
      std::ranges::stable_sort(expected, [&](std::int32_t a, std::int32_t b) {
        const auto first = TypeParam::value_of(x.data[static_cast<std::size_t>(a)]);
        const auto second = TypeParam::value_of(x.data[static_cast<std::size_t>(b)]);
        return ascending ? first < second : first > second;
      });
      EXPECT_EQ(order.data, expected) << size;
      for (std::size_t i = 0; i < elements.size(); ++i)
        ASSERT_EQ(y.data[i], x.data[static_cast<std::size_t>(expected[i])]) << size << ", " << i;
    }
  }
}

// Lists of whole and of parts of blocks, whose elements are next to each other or not.
TYPED_TEST_P(SortedType, SelectsTheFirstInBothDirections) {
  using Bits = typename TypeParam::Bits;
  std::mt19937 random(7);
  const int lowest = std::is_unsigned_v<Bits> && sizeof(Bits) == 1 ? 0 : -100;
  const std::function<int(std::int64_t, std::int64_t)> orders[] = {
      [&](std::int64_t, std::int64_t) { return static_cast<int>(random() % 200); },
      [](std::int64_t i, std::int64_t size) { return static_cast<int>(200 * i / size); },
      [](std::int64_t i, std::int64_t size) { return static_cast<int>(200 - 200 * i / size); },
      [](std::int64_t, std::int64_t) { return 0; }};
  for (const auto& number_of : orders) {
    for (const std::int64_t size : {8, 63, 65, 1000}) {
      for (const std::int64_t inner : {1, 3}) {
        std::vector<Bits> elements;
        for (std::int64_t i = 0; i < size * inner; ++i)
          elements.push_back(TypeParam::bits_of(lowest + number_of(i / inner, size)));
        Numbers<Bits> x({size, inner}, elements, TypeParam::dtype);
        for (const std::int64_t k : {std::int64_t{1}, size / 8}) {
          const auto count = static_cast<std::size_t>(k * inner);
          auto order = integers({k, inner}, std::vector<std::int32_t>(count));
          for (const bool ascending : {true, false}) {
            this->done("tvm.contrib.sort.topk",
                       {x.value(), order.value(), int_value(k), int_value(0), text("indices"),
                        bool_value(ascending)});

            std::vector<std::int32_t> expected(count);
            for (std::int64_t list = 0; list < inner; ++list) {
              std::vector<std::int32_t> all(static_cast<std::size_t>(size));
              std::iota(all.begin(), all.end(), 0);
              std::ranges::stable_sort(all, [&](std::int32_t a, std::int32_t b) {
                const auto value = [&](std::int32_t i) {
                  return TypeParam::value_of(x.data[static_cast<std::size_t>(i * inner + list)]);
                };
                return ascending ? value(a) < value(b) : value(a) > value(b);
              });
              for (std::int64_t i = 0; i < k; ++i)
                expected[static_cast<std::size_t>(i * inner + list)] =
                    all[static_cast<std::size_t>(i)];
            }
            EXPECT_EQ(order.data, expected) << size << ", " << k << ", " << ascending;
          }
        }
      }
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(SortedType, IsStableInBothDirections, SelectsTheFirstInBothDirections);
using ElementTypes = ::testing::Types<
    HalfNumber, PlainNumber<float, dtypes::float32>, PlainNumber<double, dtypes::float64>,
    PlainNumber<std::int8_t, dtypes::int8>, PlainNumber<std::uint8_t, dtypes::uint8>,
    PlainNumber<std::int32_t, dtypes::int32>, PlainNumber<std::int64_t, dtypes::int64>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Of, SortedType, ElementTypes);

TEST_F(Sorting, OrdersSpecialNumbersAndKeepsTheSignOfZero) {
  Floats x = floats({7}, {0.0F, NAN, -0.0F, -INFINITY, INFINITY, -1e-45F, -NAN}),
         y = floats({7}, x.data);

  done("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), bool_value(true)});

  EXPECT_EQ(y.data[0], -INFINITY);
  EXPECT_EQ(y.data[1], -1e-45F);
  EXPECT_EQ(y.data[2], 0.0F);
  EXPECT_FALSE(std::signbit(y.data[2]));
  EXPECT_TRUE(std::signbit(y.data[3]));
  EXPECT_EQ(y.data[4], INFINITY);
  EXPECT_TRUE(std::isnan(y.data[5]) && !std::signbit(y.data[5]));
  EXPECT_TRUE(std::isnan(y.data[6]) && std::signbit(y.data[6]));
}

TEST_F(Sorting, OrdersHalvesByValue) {
  Numbers<std::uint16_t> x({4}, {half_of(1.5), half_of(-2), half_of(65504), half_of(-0.0)},
                           dtypes::float16);
  auto order = integers({4}, {9, 9, 9, 9});

  done("tvm.contrib.sort.argsort", {x.value(), order.value(), int_value(0), bool_value(true)});

  EXPECT_THAT(order.data, ElementsAre(1, 3, 0, 2));
}

TEST_F(Sorting, WritesItsResultToTheInput) {
  Floats x = floats({2, 3}, {3, 1, 2, 9, 7, 8});

  done("tvm.contrib.sort.sort", {x.value(), x.value(), int_value(-1), bool_value(false)});

  EXPECT_THAT(x.data, ElementsAre(3, 2, 1, 9, 8, 7));
}

TEST_F(Sorting, RefusesAnOutputWithinTheInput) {
  std::vector<float> data = {3, 1, 2, 9};
  const std::int64_t shape[] = {3};
  gantry_tensor first = compact_tensor(dtypes::float32, shape, gantry::test::cpu, data.data());
  gantry_tensor last = first;
  last.byte_offset = sizeof(float);

  EXPECT_EQ(error_of("tvm.contrib.sort.sort", {tensor_ref_value(&first), tensor_ref_value(&last),
                                               int_value(0), bool_value(true)})
                .message,
            "sort(x, out, axis, ascending): argument 1 (out) overlaps the input");
}

TEST_F(Sorting, ReadsTensorsFromTheirByteOffset) {
  Floats x = floats({3}, {5, 3, 1, 2}), y = floats({3}, {0, 0, 0, 0});
  x.tensor.byte_offset = y.tensor.byte_offset = sizeof(float);

  done("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), bool_value(true)});

  EXPECT_THAT(y.data, ElementsAre(0, 1, 2, 3));
}

// A view of bytes may begin at each of them.
TEST_F(Sorting, RefusesElementsThatAreNotAligned) {
  Floats x = floats({2}, {5, 3, 1}), y = floats({2}, {0, 0, 0});
  x.tensor.byte_offset = 2;

  const Error error =
      error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), bool_value(true)});

  EXPECT_EQ(error.reason, "ARGUMENT_ALIGNMENT");
  EXPECT_EQ(error.message,
            "sort(x, out, axis, ascending): argument 0 (x) is float32[2], 2 bytes past a multiple "
            "of 4, expected elements at multiples of their size");
}

TEST_F(Sorting, RefusesATensorWithoutAxes) {
  Floats x = floats({}, {3}), y = floats({}, {0});

  EXPECT_EQ(error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(-1), int_value(1)})
                .message,
            "axis is -1, the tensor has 0 dimensions");
}

TEST_F(Sorting, RefusesIndicesOfATypeWithFewNumbers) {
  Floats x = floats({3}, {3, 1, 2});
  Numbers<std::int8_t> order({3}, {9, 9, 9}, dtypes::int8);

  EXPECT_THAT(
      error_of("tvm.contrib.sort.argsort", {x.value(), order.value(), int_value(0), int_value(1)})
          .message,
      ::testing::EndsWith("expected a tensor of int32, int64, float32 or float64"));
}

TEST_F(Sorting, LeavesOutputsAfterTheLastElementAsTheyAre) {
  Floats x = floats({2, 2}, {3, 1, 7, 9}), values = floats({2, 3}, std::vector<float>(6, -1));
  auto indices = integers({2, 3}, {9, 9, 9, 9, 9, 9});

  done("tvm.contrib.sort.topk", {x.value(), values.value(), indices.value(), int_value(3),
                                 int_value(1), text("both"), bool_value(false)});

  EXPECT_THAT(values.data, ElementsAre(3, 1, -1, 9, 7, -1));
  EXPECT_THAT(indices.data, ElementsAre(0, 1, 9, 1, 0, 9));
}

// Ascending elements are each larger than all before.
TEST_F(Sorting, SelectsAFewOfManyElements) {
  const std::int64_t size = 5000;
  std::vector<float> random, ascending, equal(static_cast<std::size_t>(size), 4);
  for (std::int64_t i = 0; i < size; ++i) {
    random.push_back(static_cast<float>(i * 7919 % 1000));
    ascending.push_back(static_cast<float>(i));
  }
  for (const std::vector<float>& elements : {random, ascending, equal}) {
    Floats x = floats({size}, elements), values = floats({10}, std::vector<float>(10));
    Numbers<std::int64_t> indices({10}, std::vector<std::int64_t>(10), dtypes::int64);
    done("tvm.contrib.sort.topk", {x.value(), values.value(), indices.value(), int_value(10),
                                   int_value(0), text("both"), bool_value(false)});

    std::vector<std::int64_t> expected(elements.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::stable_sort(expected, std::greater{},
                             [&](std::int64_t i) { return elements[static_cast<std::size_t>(i)]; });
    expected.resize(10);
    EXPECT_EQ(indices.data, expected);
    for (std::size_t i = 0; i < 10; ++i)
      EXPECT_EQ(values.data[i], elements[static_cast<std::size_t>(expected[i])]);
  }
}

TEST_F(Sorting, OrdersTheFirstElementsOfEachListForNms) {
  Floats x = floats({2, 4}, {1, 3, 2, 9, 4, 5, 6, 7});
  auto counts = integers({2}, {3, 0}), order = integers({2, 4}, std::vector<std::int32_t>(8));

  done("tvm.contrib.sort.argsort_nms",
       {x.value(), counts.value(), order.value(), int_value(1), bool_value(false)});

  EXPECT_THAT(order.data, ElementsAre(1, 2, 0, 3, 0, 1, 2, 3));
}

TEST_F(Sorting, RefusesCountsThatAListDoesNotHave) {
  Floats x = floats({2, 2}, {1, 3, 2, 9});
  for (const std::int32_t count : {-1, 3}) {
    auto counts = integers({2}, {2, count}), order = integers({2, 2}, {7, 7, 7, 7});

    EXPECT_EQ(error_of("tvm.contrib.sort.argsort_nms",
                       {x.value(), counts.value(), order.value(), int_value(1), bool_value(false)})
                  .message,
              concat("argsort_nms(x, count, out, axis, ascending): count of list 1 is ", count,
                     ", the list has 2 elements"));
    EXPECT_THAT(order.data, ::testing::Each(7));
  }
}

}  // namespace
}  // namespace gantry::contrib::test
