// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/kv_cache/kv_config.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace gantry::relax::test {
namespace {

using ::testing::ElementsAre;

TEST(KvConfig, IsReadFromTheShapeOfTheExporter) {
  const Result<KvConfig> config =
      read_kv_config(std::vector<std::int64_t>{4, 128, 32, 16, 0, 1024});

  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->max_batch, 4);
  EXPECT_EQ(config->prefill_chunk, 32);
  EXPECT_EQ(config->page_size, 16);
  EXPECT_EQ(config->page_count, 9);
  EXPECT_FALSE(config->sliding_window);
}

TEST(KvConfig, RoundsUpToWholePages) {
  EXPECT_EQ(read_kv_config(std::vector<std::int64_t>{4, 129, 32, 16, 0})->page_count, 10);
}

TEST(KvConfig, HasTwoMorePagesForEachSequenceWithASlidingWindow) {
  const Result<KvConfig> config = read_kv_config(std::vector<std::int64_t>{2, 64, 32, 16, 1});

  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->sliding_window);
  EXPECT_EQ(config->page_count, 9);
}

TEST(KvConfig, TakesAsManySlotsAsNumbersOf32BitsCount) {
  const Result<KvConfig> config = read_kv_config(std::vector<std::int64_t>{1, 2147483646, 1, 1, 0});

  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->page_count, 2147483647);
}

struct BadConfig {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string message;
  friend void PrintTo(const BadConfig& bad, std::ostream* out) { *out << bad.name; }
};
class KvConfigRefuses : public ::testing::TestWithParam<BadConfig> {};
TEST_P(KvConfigRefuses, AWrongNumber) {
  const Result<KvConfig> config = read_kv_config(GetParam().shape);

  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, Code::invalid);
  EXPECT_EQ(config.error().message, GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, KvConfigRefuses,
    ::testing::Values(
        BadConfig{"FourNumbers",
                  {4, 128, 32, 16},
                  "KV cache configuration [4, 128, 32, 16] has 4 numbers, 5 or 6 are expected"},
        BadConfig{"SevenNumbers",
                  {4, 128, 32, 16, 0, 1, 1},
                  "KV cache configuration [4, 128, 32, 16, 0, 1, 1] has 7 numbers, 5 or 6 are "
                  "expected"},
        BadConfig{
            "NoBatch", {0, 128, 32, 16, 0}, "max_batch of a KV cache is 0, range is 1..2147483647"},
        BadConfig{"NoTokens",
                  {4, 0, 32, 16, 0},
                  "max_total_length of a KV cache is 0, range is 1..2147483647"},
        BadConfig{"NegativeChunk",
                  {4, 128, -1, 16, 0},
                  "prefill_chunk of a KV cache is -1, range is 1..2147483647"},
        BadConfig{"LargePages",
                  {4, 128, 32, 2147483648, 0},
                  "page_size of a KV cache is 2147483648, range is 1..2147483647"},
        BadConfig{"SlidingWindowOfTwo",
                  {4, 128, 32, 16, 2},
                  "sliding_window of a KV cache is 2, range is 0..1"},
        BadConfig{"NegativeSlidingWindow",
                  {4, 128, 32, 16, -1},
                  "sliding_window of a KV cache is -1, range is 0..1"},
        BadConfig{"TooManySlots",
                  {1, 2147483647, 1, 1, 0},
                  "KV cache has 2147483648 pages of 1 tokens, limit is 2147483647 tokens in all"}),
    [](const auto& test) { return test.param.name; });

KvConfig nine_pages() { return *read_kv_config(std::vector<std::int64_t>{4, 128, 32, 16, 0}); }

TEST(KvLayerShape, HasKeysAndValuesOfEachPage) {
  const Result<KvLayerShape> layer = kv_layer_shape(nine_pages(), {2, 64, 4});

  ASSERT_TRUE(layer.ok());
  EXPECT_THAT(layer->extents, ElementsAre(9, 2, 2, 16, 64));
  EXPECT_EQ(layer->bytes, 9u * 2 * 2 * 16 * 64 * 4);
}

TEST(KvLayerShape, RefusesNumbersBelowOne) {
  for (const KvHeads& heads : {KvHeads{0, 64, 4}, KvHeads{2, 0, 4}, KvHeads{2, 64, 0}}) {
    const Result<KvLayerShape> layer = kv_layer_shape(nine_pages(), heads);

    ASSERT_FALSE(layer.ok());
    EXPECT_EQ(layer.error().code, Code::invalid);
  }
  EXPECT_EQ(kv_layer_shape(nine_pages(), {-2, 64, 4}).error().message,
            "KV cache has -2 heads of 64 elements of 4 bytes, minimum is 1 each");
}

TEST(KvLayerShape, RefusesASizeThatOverflows) {
  const std::int64_t large = std::int64_t{1} << 52;
  // 9 * 2 * 16 * 2^52 * 7 is less than 2^63 - 1, with 8 it is more.
  EXPECT_TRUE(kv_layer_shape(nine_pages(), {1, large, 7}).ok());

  const Result<KvLayerShape> layer = kv_layer_shape(nine_pages(), {1, large, 8});

  ASSERT_FALSE(layer.ok());
  EXPECT_EQ(layer.error().message,
            "a layer of the KV cache, [9, 2, 1, 16, 4503599627370496] of 8 bytes, exceeds "
            "9223372036854775807 bytes");
  EXPECT_FALSE(kv_layer_shape(nine_pages(), {INT64_MAX, INT64_MAX, 8}).ok());
}

}  // namespace
}  // namespace gantry::relax::test
