// SPDX-License-Identifier: Apache-2.0
//
// Calls functions of the paged KV cache while their allocations fail, one after the other.
#include "plugins/relax/kv_cache/kv_forward.hpp"
#include "tests/faults/fail_nth.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>

namespace gantry::relax {
namespace {

using Numbers = std::vector<std::int64_t>;

// Sequence 0 has 40 tokens in pages of 4, of which sequence 1 shares 20; sequence 2 is empty.
struct Cache {
  KvSequences sequences{*read_kv_config(Numbers{4, 256, 64, 4, 0})};
  KvForward pass{sequences};

  Cache() {
    EXPECT_TRUE(sequences.add(0).ok());
    EXPECT_TRUE(pass.begin(Numbers{0}, Numbers{40}).ok());
    EXPECT_TRUE(sequences.fork(0, 1, 20).ok());
    EXPECT_TRUE(sequences.add(2).ok());
  }

  std::string state() const {
    std::string text = concat(sequences.free_page_count(), " free");
    for (std::int64_t id = 0; id < 6; ++id) {
      const Result<std::int32_t> length = sequences.length(id);
      if (!length.ok()) continue;
      std::vector<std::int32_t> slots(static_cast<std::size_t>(*length));
      EXPECT_TRUE(sequences.slots(id, 0, *length, slots).ok());
      text += concat("; ", id, ":");
      for (const std::int32_t slot : slots) text += concat(' ', slot);
    }
    for (const std::int32_t number : pass.contents()) text += concat(' ', number);
    return text;
  }
};

struct Work {
  std::string name;
  std::function<Status(Cache&)> run;
  friend void PrintTo(const Work& work, std::ostream* out) { *out << work.name; }
};

class KvCacheWithoutMemory : public ::testing::TestWithParam<Work> {};

TEST_P(KvCacheWithoutMemory, IsUnchanged) {
  unsigned long refused = 0;
  for (unsigned long nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    Cache cache;
    const std::string before = cache.state();
    bool done = false;
    fail_nth_arm(nth);
    try {
      done = GetParam().run(cache).ok();
    } catch (const std::bad_alloc&) {
    }
    fail_nth_disarm();
    if (fail_nth_fired() == 0) {
      EXPECT_TRUE(done);
      break;
    }
    EXPECT_FALSE(done);
    EXPECT_EQ(cache.state(), before);
    // What has been allocated already is not missing later.
    EXPECT_TRUE(GetParam().run(cache).ok());
    ++refused;
  }
  EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, KvCacheWithoutMemory,
    ::testing::Values(Work{"Add", [](Cache& cache) { return cache.sequences.add(5); }},
                      Work{"ForkInsideAPage",
                           [](Cache& cache) -> Status {
                             GANTRY_CHECK(cache.sequences.fork(0, 5, 30));
                             return {};
                           }},
                      Work{"ForkAtTheEnd",
                           [](Cache& cache) -> Status {
                             GANTRY_CHECK(cache.sequences.fork(0, 5, -1));
                             return {};
                           }},
                      Work{"PopSharedTokens",
                           [](Cache& cache) -> Status {
                             GANTRY_CHECK(cache.sequences.pop(1, 5));
                             return {};
                           }},
                      Work{"Forward",
                           [](Cache& cache) {
                             return cache.pass.begin(Numbers{2, 0, 1}, Numbers{20, 21, 23});
                           }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry::relax
