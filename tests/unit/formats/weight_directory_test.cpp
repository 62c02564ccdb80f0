// SPDX-License-Identifier: Apache-2.0
#include "core/formats/weight_directory.hpp"

#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"

#include <gantry/quoted.hpp>

#include <sys/resource.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <utility>
#include <vector>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class WeightDirectoryTest : public ::testing::Test {
 protected:
  WeightDirectory opened(std::string_view index = small_index) {
    write_weights(directory.path(), index);
    auto weights = WeightDirectory::open(directory.path());
    if (!weights.ok()) ADD_FAILURE() << weights.error().message;
    return std::move(weights).value();
  }
  // The text of `path` in the directory.
  std::string at(std::string_view name) const { return (directory / name).string(); }

  TempDir directory;
};

TEST_F(WeightDirectoryTest, MapsTheBytesOfItsRecords) {
  const WeightDirectory weights = opened(replaced(
      small_index, R"([3], "dtype": "float32", "format": "raw", "nbytes": 12, "byteOffset": 0)",
      R"([1], "dtype": "float32", "format": "raw", "nbytes": 4, "byteOffset": 7)"));
  const WeightShard& shard = weights.index.shards[0];

  const auto mapped = weights.map(shard);

  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  EXPECT_THAT(mapped->bytes_of(shard.records[0]), ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(weights.index_name, "tensor-cache.json");
}

TEST_F(WeightDirectoryTest, KeepsWhatIsWrittenToAShardFromTheFile) {
  const WeightDirectory weights = opened();
  const MappedShard mapped = weights.map(weights.index.shards[0]).value();

  mapped.bytes()[0] = 99;

  EXPECT_EQ(mapped.bytes()[0], 99);
  EXPECT_EQ(read_file(directory / "s0.bin")[0], 1);
}

// A model may have more shards than a process has descriptors.
TEST_F(WeightDirectoryTest, HoldsNoDescriptorOfAMappedShard) {
  const WeightDirectory weights = opened();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit lower{64, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  std::vector<MappedShard> all;

  for (int i = 0; i < 100; ++i) {
    auto mapped = weights.map(weights.index.shards[0]);
    ASSERT_TRUE(mapped.ok()) << i << mapped.error().message;
    all.push_back(std::move(*mapped));
  }

  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(all.back().bytes()[11], 12);
}

TEST_F(WeightDirectoryTest, MapsAnEmptyShard) {
  const WeightDirectory weights =
      opened(R"({"records": [{"dataPath": "sub/e", "format": "raw-shard", "nbytes": 0,
      "records": [{"name": "e", "shape": [0], "dtype": "int8", "format": "raw", "nbytes": 0, "byteOffset": 0}]}]})");
  std::filesystem::create_directory(directory / "sub");
  write_file(directory / "sub/e", "");

  const auto mapped = weights.map(weights.index.shards[0]);

  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
  EXPECT_THAT(mapped->bytes_of(weights.index.shards[0].records[0]), IsEmpty());
}

TEST_F(WeightDirectoryTest, ReadsTheIndexOfOldReleases) {
  write_weights(directory.path(), small_index, "ndarray-cache.json");

  const auto weights = WeightDirectory::open(directory.path());

  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->index_name, "ndarray-cache.json");
  EXPECT_EQ(weights->index.shards.size(), 2u);
}

TEST_F(WeightDirectoryTest, ReadsTheNewestIndex) {
  write_weights(directory.path(), "[]", "ndarray-cache.json");

  EXPECT_EQ(opened().index_name, "tensor-cache.json");
}

TEST_F(WeightDirectoryTest, IsRefusedWithoutAnIndex) {
  write_file(directory / "file", "");
  const std::pair<std::string, std::string> cases[] = {
      {directory.path().string(), "has no index of weights"},
      {at("file"), "is not a directory"},
      {at("absent"), "does not exist"},
  };
  for (const auto& [path, why] : cases) {
    const auto weights = WeightDirectory::open(path);

    ASSERT_FALSE(weights.ok());
    EXPECT_EQ(weights.error().code, Code::not_found);
    EXPECT_EQ(weights.error().reason, "WEIGHT_INDEX");
    EXPECT_EQ(weights.error().message,
              quoted(path, 1000) + " " + why +
                  ", expected a directory with tensor-cache.json or ndarray-cache.json");
  }
}

TEST_F(WeightDirectoryTest, NamesTheIndexThatIsMalformed) {
  write_weights(directory.path(), "[]");

  const auto weights = WeightDirectory::open(directory.path());

  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.error().message,
            "index of weights is a list, expected an object\n  in " + at("tensor-cache.json"));
}

TEST_F(WeightDirectoryTest, RefusesAnIndexThatIsNoFile) {
  std::filesystem::create_directory(directory / "tensor-cache.json");

  const auto weights = WeightDirectory::open(directory.path());

  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.error().message, at("tensor-cache.json") + ": not a regular file");
}

TEST_F(WeightDirectoryTest, RefusesAShardOfAnotherSize) {
  const WeightDirectory weights = opened();
  write_file(directory / "s0.bin", "12345");
  write_file(directory / "s1.bin", "");

  const auto shorter = weights.map(weights.index.shards[0]);
  const auto empty = weights.map(weights.index.shards[1]);

  ASSERT_FALSE(shorter.ok());
  EXPECT_EQ(shorter.error().code, Code::malformed);
  EXPECT_EQ(shorter.error().reason, "WEIGHT_SHARD");
  EXPECT_EQ(shorter.error().message,
            at("s0.bin") + " has 5 bytes, its index states 12: copy or download it again");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().message,
            at("s1.bin") + " has 0 bytes, its index states 8: copy or download it again");
}

TEST_F(WeightDirectoryTest, RefusesAShardThatIsAbsent) {
  const WeightDirectory weights = opened();
  std::filesystem::remove(directory / "s0.bin");

  const auto mapped = weights.map(weights.index.shards[0]);

  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.error().code, Code::not_found);
  EXPECT_THAT(mapped.error().message.text(), StartsWith(at("s0.bin") + " does not exist"));
}

TEST_F(WeightDirectoryTest, ChecksAShardBeforeItOpensTheFile) {
  const WeightDirectory weights = opened(replaced(small_index, "raw-shard", "npz-shard"));
  std::filesystem::remove(directory / "s0.bin");

  const auto mapped = weights.map(weights.index.shards[0]);

  ASSERT_FALSE(mapped.ok());
  EXPECT_EQ(mapped.error().message,
            "format is \"npz-shard\", expected \"raw-shard\"\n  in shard \"s0.bin\" of " +
                at("tensor-cache.json"));
}

}  // namespace
}  // namespace gantry::test
