// SPDX-License-Identifier: Apache-2.0
//
// Reads directories of weights, and loads them into the cache of a runtime, while allocations fail:
// each one alone, and every one from the N-th on.
#include "core/formats/weight_directory.hpp"
#include "tests/faults/fail_nth.h"
#include "tests/support/built_runtime.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

namespace gantry {
namespace {

// Raw and narrowed records, three shards of which one is empty.
Status read_all() {
  GANTRY_TRY(const WeightDirectory weights,
             WeightDirectory::open(test::golden("relax/weights_hand.weights")));
  for (const WeightShard& shard : weights.index.shards) {
    GANTRY_TRY(const MappedShard mapped, weights.map(shard));
    for (const WeightRecord& record : shard.records) {
      std::vector<std::uint8_t> elements(2 * record.stored_bytes);
      read_elements(record, mapped.bytes_of(record), elements.data());
    }
  }
  return {};
}

// Treats std::bad_alloc as a refusal, as the boundary of a plugin does.
template <class Work>
bool is_done(const Work& work) {
  try {
    const Status status = work();
    EXPECT_TRUE(status.ok() || status.error().code == Code::exhausted) << status.error().message;
    return status.ok();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

class WeightsWithoutMemory : public ::testing::TestWithParam<bool> {
 protected:
  static void arm(unsigned long nth) { (GetParam() ? fail_nth_arm_onward : fail_nth_arm)(nth); }
};

TEST_P(WeightsWithoutMemory, AreRefusedOrRead) {
  ASSERT_TRUE(is_done(read_all));
  unsigned long refused = 0;
  for (unsigned long nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    const long before = fail_nth_live();
    arm(nth);
    const bool done = is_done(read_all);
    fail_nth_disarm();
    ASSERT_EQ(fail_nth_live(), before) << "blocks";
    if (fail_nth_fired() == 0) break;
    refused += !done;
  }
  EXPECT_GT(refused, 20u);
}

// The cache of a runtime, through the functions of the plugin.
class Cache {
 public:
  Status load() {
    GANTRY_CHECK(load_(directory_, 1, 0));
    return {};
  }
  void clear() { ASSERT_TRUE(clear_().ok()); }
  // Number of the shard's records that are in the cache.
  std::size_t count(const WeightShard& shard) {
    std::size_t found = 0;
    for (const WeightRecord& record : shard.records) found += !get_(record.name)->is_none();
    return found;
  }
  const WeightIndex& index() const { return index_; }

 private:
  Function function(const char* name) {
    return runtime_.function(concat("vm.builtin.tensor_cache.", name)).value();
  }

  const std::string directory_ = test::golden("relax/weights_mix.weights").string();
  const WeightIndex index_ = WeightDirectory::open(directory_).value().index;
  Runtime runtime_ = test::new_runtime();
  Function load_ = function("load"), clear_ = function("clear"), get_ = function("get");
};

// A shard is in the cache completely or not at all, and those before it are, too.
TEST_P(WeightsWithoutMemory, AreInTheCacheByWholeShards) {
  Cache cache;
  ASSERT_TRUE(cache.load().ok());
  cache.clear();
  unsigned long refused = 0;
  for (unsigned long nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    const long before = fail_nth_live();
    arm(nth);
    const bool done = is_done([&] { return cache.load(); });
    fail_nth_disarm();
    bool is_after_the_last = false;
    for (const WeightShard& shard : cache.index().shards) {
      const std::size_t found = cache.count(shard);
      EXPECT_TRUE(found == shard.records.size() || found == 0) << shard.path;
      EXPECT_FALSE(is_after_the_last && found != 0) << shard.path;
      is_after_the_last |= found == 0;
    }
    EXPECT_EQ(done, !is_after_the_last);
    cache.clear();
    ASSERT_EQ(fail_nth_live(), before) << "blocks";
    if (fail_nth_fired() == 0) break;
    refused += !done;
  }
  EXPECT_GT(refused, 20u);
}

INSTANTIATE_TEST_SUITE_P(Fault, WeightsWithoutMemory, ::testing::Bool(), [](const auto& test) {
  return test.param ? "AllFromOneOn" : "OneAllocation";
});

}  // namespace
}  // namespace gantry
