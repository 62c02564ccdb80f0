// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/relax_kv/functions.hpp"

namespace gantry::relax::test {
namespace {

class LegacyCacheTest : public Functions {
 protected:
  Value created(const Shape& reserve, const std::vector<float>& rows, std::int64_t fill = -1) {
    Floats init({static_cast<std::int64_t>(rows.size()) / 2, 2}, rows);
    return call("attention_kv_cache_create", {init.value(), shape(reserve), int_value(fill)})
        .value();
  }
  // Calls a function with rows [n, 2], and checks that it returns the cache.
  void change(const std::string& name, const Value& cache, const std::vector<float>& rows,
              const std::vector<std::int64_t>& numbers = {}) {
    Floats value({static_cast<std::int64_t>(rows.size()) / 2, 2}, rows);
    std::vector<gantry_value> args = {cache.get(), value.value()};
    for (const std::int64_t number : numbers) args.push_back(int_value(number));
    const Result<Value> result = call("attention_kv_cache_" + name, args);
    ASSERT_TRUE(result.ok()) << result.error().message.text();
    EXPECT_EQ(result->object(), cache.object());
  }
  std::vector<float> content(const Value& cache) {
    return floats_of(call("attention_kv_cache_view", {cache.get()}).value());
  }
};

using Content = std::vector<float>;

TEST_F(LegacyCacheTest, AppendsAndGrowsByDoubling) {
  const Value cache = created({1, 2}, {1, 2});
  change("append", cache, {3, 4, 5, 6});
  EXPECT_EQ(content(cache), (Content{1, 2, 3, 4, 5, 6}));
  change("append", cache, {7, 8});
  EXPECT_EQ(content(cache), (Content{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(fake.allocations, (std::vector<std::uint64_t>{8, 32}));
  change("append", cache, {});
  EXPECT_EQ(fake.allocations.size(), 2U);
}

TEST_F(LegacyCacheTest, ViewsKeepTheirMemory) {
  const Value cache = created({1, 2}, {1, 2});
  const Value view = call("attention_kv_cache_view", {cache.get(), shape({1, 2})}).value();
  change("append", cache, {3, 4});
  EXPECT_EQ(floats_of(view), (Content{1, 2}));
}

TEST_F(LegacyCacheTest, BeginsWithTheNumberOfFilledRowsThatIsGiven) {
  EXPECT_EQ(content(created({4, 2}, {1, 2, 3, 4}, 0)), Content{});
  EXPECT_EQ(content(created({4, 2}, {1, 2, 3, 4}, 1)), (Content{1, 2}));
}

TEST_F(LegacyCacheTest, ReplacesAllRows) {
  const Value cache = created({4, 2}, {1, 2, 3, 4});
  change("update", cache, {5, 6, 7, 8});
  EXPECT_EQ(content(cache), (Content{5, 6, 7, 8}));
}

TEST_F(LegacyCacheTest, ReplacesTheOldestRowsOfAWindow) {
  const Value cache = created({1, 2}, {0, 0}, 0);
  change("window_override_with_sinks", cache, {1, 1, 2, 2}, {3, 1});
  EXPECT_EQ(content(cache), (Content{1, 1, 2, 2}));
  change("window_override_with_sinks", cache, {3, 3, 4, 4}, {3, 1});
  EXPECT_EQ(content(cache), (Content{1, 1, 4, 4, 3, 3}));
  change("window_override_with_sinks", cache, {5, 5}, {3, 1});
  EXPECT_EQ(content(cache), (Content{1, 1, 4, 4, 5, 5}));
  change("window_override_with_sinks", cache, {6, 6}, {3, 1});
  EXPECT_EQ(content(cache), (Content{1, 1, 6, 6, 5, 5}));
}

TEST_F(LegacyCacheTest, WindowBeginsAtTheFirstRowAfterAppends) {
  const Value cache = created({4, 2}, {1, 1, 2, 2}, -1);
  change("window_override", cache, {3, 3}, {4});
  // Nothing has written the last row.
  EXPECT_EQ(content(cache), (Content{3, 3, 2, 2, 0, 0}));
}

TEST_F(LegacyCacheTest, HasZerosInFilledRowsThatNothingHasWritten) {
  EXPECT_EQ(content(created({4, 2}, {1, 2}, 3)), (Content{1, 2, 0, 0, 0, 0}));
}

TEST_F(LegacyCacheTest, RemovesRowsOfSeveralCaches) {
  const Value a = created({4, 2}, {1, 2, 3, 4});
  const Value b = created({4, 2}, {5, 6});
  const gantry_value both = array({a.get(), b.get()});
  ASSERT_TRUE(call("attention_kv_cache_array_popn", {both, int_value(1)}).ok());
  EXPECT_EQ(content(a), (Content{1, 2}));
  EXPECT_EQ(content(b), Content{});
  ASSERT_TRUE(call("attention_kv_cache_array_clear", {both}).ok());
  EXPECT_EQ(content(a), Content{});
}

TEST_F(LegacyCacheTest, RefusesArguments) {
  const Value cache = created({2, 2}, {1, 2});
  Floats rows({1, 2}, {3, 4});
  Floats two({2, 2}, {3, 4, 5, 6});
  Floats narrow({1, 1}, {3});
  Ints ints({1, 2}, {3, 4});
  Floats scalar({}, {1});
  EXPECT_EQ(failure("attention_kv_cache_create", {rows.value(), shape({}), int_value(-1)}),
            "InternalError: shape of a KV cache is [], expected at least 1 dimension, and at "
            "least 1 row");
  EXPECT_EQ(failure("attention_kv_cache_create", {rows.value(), shape({0, 2}), int_value(-1)}),
            "InternalError: shape of a KV cache is [0, 2], expected at least 1 dimension, and at "
            "least 1 row");
  EXPECT_EQ(failure("attention_kv_cache_create", {rows.value(), shape({4, 2}), int_value(5)}),
            "InternalError: KV cache has 5 filled rows, limit is 4");
  EXPECT_EQ(failure("attention_kv_cache_create", {rows.value(), int_value(4), int_value(5)}),
            "TypeError: attention_kv_cache_create(init_data, reserve_shape, init_fill_count): "
            "argument 1 (reserve_shape) is an integer, expected a shape");
  EXPECT_EQ(failure("attention_kv_cache_append", {cache.get(), scalar.value()}),
            "InternalError: attention_kv_cache_append(cache, value): argument 1 (value) has no "
            "dimensions");
  for (const gantry_value& bad : {narrow.value(), ints.value()}) {
    EXPECT_EQ(
        failure("attention_kv_cache_append", {cache.get(), bad}),
        concat("InternalError: rows for a KV cache are ", tensor_text(*gantry_value_tensor(&bad)),
               ", its own are float32[2, 2]: dtype and all dimensions but the first "
               "must be equal"));
  }
  EXPECT_EQ(failure("attention_kv_cache_append", {array({}), rows.value()}),
            "TypeError: attention_kv_cache_append(cache, value): argument 0 (cache) is an array, "
            "expected an object");
  EXPECT_EQ(failure("attention_kv_cache_update", {cache.get(), two.value()}),
            "InternalError: KV cache has 1 filled rows, an update has 2, the numbers must be "
            "equal");
  EXPECT_EQ(failure("attention_kv_cache_view", {cache.get(), shape({99, 2})}),
            "InternalError: view of a KV cache has the shape [1, 2], requested is [99, 2]");
  EXPECT_EQ(failure("attention_kv_cache_window_override_with_sinks",
                    {cache.get(), two.value(), int_value(2), int_value(1)}),
            "InternalError: window of a KV cache has 2 rows, which do not hold 1 sinks and 2 new "
            "rows");
  EXPECT_EQ(failure("attention_kv_cache_window_override_with_sinks",
                    {cache.get(), rows.value(), int_value(2), int_value(-1)}),
            "InternalError: window of a KV cache has 2 rows, which do not hold -1 sinks and 1 new "
            "rows");
  const Value full = created({4, 2}, {1, 2, 3, 4, 5, 6}, 3);
  EXPECT_EQ(failure("attention_kv_cache_window_override", {full.get(), rows.value(), int_value(2)}),
            "InternalError: window of a KV cache has 2 rows, its next row is 3");
  const gantry_value caches = array({full.get()});
  ASSERT_TRUE(call("attention_kv_cache_array_popn", {caches, int_value(3)}).ok());
  EXPECT_EQ(failure("attention_kv_cache_window_override", {full.get(), two.value(), int_value(4)}),
            "InternalError: window of a KV cache has 2 filled rows of 4, it must be full before "
            "rows are replaced");
  EXPECT_EQ(failure("attention_kv_cache_array_popn", {caches, int_value(1)}),
            "InternalError: rows to remove from a KV cache are 1, range is 0..0");
  EXPECT_EQ(failure("attention_kv_cache_array_popn", {array({int_value(1)}), int_value(1)}),
            "TypeError: attention_kv_cache_array_popn(caches, n): argument 0 (caches) is an "
            "array, expected an array of KV caches");
}

TEST_F(LegacyCacheTest, IsUnchangedWhereMemoryIsExhausted) {
  const Value cache = created({1, 2}, {1, 2});
  fake.max_allocations = fake.allocations.size();
  Floats rows({1, 2}, {3, 4});
  EXPECT_FALSE(call("attention_kv_cache_append", {cache.get(), rows.value()}).ok());
  EXPECT_EQ(content(cache), (Content{1, 2}));
}

}  // namespace
}  // namespace gantry::relax::test
