// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/builtin.hpp"
#include "tests/support/fake_host.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gantry::relax::test {
namespace {

using gantry::test::FakeHost;
using ::testing::ElementsAre;
using ::testing::StartsWith;

// A tensor over numbers of the test.
template <class T>
struct Numbers {
  Numbers(std::vector<std::int64_t> extents, std::vector<T> values, gantry_dtype type)
      : shape(std::move(extents)), data(std::move(values)) {
    tensor = {data.data(),
              gantry::test::cpu,
              static_cast<std::int32_t>(shape.size()),
              type,
              shape.data(),
              nullptr,
              0};
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  gantry_value value() { return tensor_ref_value(&tensor); }

  std::vector<std::int64_t> shape;
  std::vector<T> data;
  gantry_tensor tensor{};
};
using Floats = Numbers<float>;
Floats floats(std::vector<std::int64_t> shape, std::vector<float> values) {
  return Floats(std::move(shape), std::move(values), dtypes::float32);
}
Numbers<std::int32_t> integers(std::vector<std::int64_t> shape, std::vector<std::int32_t> values) {
  return {std::move(shape), std::move(values), dtypes::int32};
}

gantry_value text(const char* content) {
  gantry_value value{};
  gantry_value_small(GANTRY_SMALL_STRING, gantry_text(content), &value);
  return value;
}

class Sorting : public ::testing::Test {
 protected:
  Result<Value> call(std::string_view name, std::vector<gantry_value> args) {
    const Builtin* const builtin = find_builtin(name);
    return builtin->call(Host(fake.table()), memory, &env, args);
  }
  void done(std::string_view name, std::vector<gantry_value> args) {
    const auto result = call(name, std::move(args));
    EXPECT_TRUE(result.ok()) << result.error().message;
  }
  Error error_of(std::string_view name, std::vector<gantry_value> args) {
    auto result = call(name, std::move(args));
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error() : std::move(result).error();
  }

  FakeHost fake;
  gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};
  std::shared_ptr<StorageMemory> memory = std::make_shared<StorageMemory>("gantry.relax");
};

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

// A list may have as many elements as memory: its indices, and the buffer of the sort.
TEST_F(Sorting, CountsTheMemoryOfASort) {
  const std::int64_t count = 1 << 14;
  Floats x = floats({count}, std::vector<float>(count)), y = floats({count}, x.data);
  const auto result_with = [&](std::uint64_t limit) {
    memory = std::make_shared<StorageMemory>("gantry.relax", limit);
    return call("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), bool_value(true)});
  };

  EXPECT_TRUE(result_with(2 * count * sizeof(std::int64_t) + 4096).ok());
  EXPECT_EQ(memory->bytes(gantry::test::cpu), 0u);
  const auto refused = result_with(2 * count * sizeof(std::int64_t) - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "MEMORY_LIMIT");
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
  x.tensor.dtype = y.tensor.dtype = {2, 16, 1};

  EXPECT_EQ(
      error_of("tvm.contrib.sort.sort", {x.value(), y.value(), int_value(0), int_value(1)}).message,
      "sorting of elements of type float16 is not supported");
}

TEST_F(Sorting, RefusesAnotherWordForTheOutputs) {
  Floats x = floats({1}, {3}), y = floats({1}, {0});

  EXPECT_THAT(error_of("tvm.contrib.sort.topk", {x.value(), y.value(), int_value(1), int_value(0),
                                                 text("all"), int_value(1)})
                  .message,
              StartsWith("topk(x, out, ..., k, axis, what, ascending): argument 4"));
}

}  // namespace
}  // namespace gantry::relax::test
