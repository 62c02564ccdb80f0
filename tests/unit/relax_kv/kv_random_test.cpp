// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/relax_kv/world.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace gantry::relax::test {
namespace {

// Random calls of all functions, in proportions that fill the cache and fail now and then.
class Player {
 public:
  Player(const Numbers& shape, std::uint32_t seed) : world_(shape), random_(seed) {}

  void play(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(concat("step ", step));
      play_one();
    }
    EXPECT_GT(passes_, steps / 5);
    EXPECT_GT(exhausted_, 0);
    EXPECT_GT(forks_, steps / 100);
    for (const std::int64_t id : world_.ids()) EXPECT_TRUE(world_.remove(id).ok());
    EXPECT_EQ(world_.cache.free_page_count(), world_.cache.config().page_count);
  }

 private:
  std::int64_t below(std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random_);
  }
  // Usually the id of a sequence.
  std::int64_t some_id() {
    const Numbers ids = world_.ids();
    if (ids.empty() || below(50) == 0) return below(id_limit);
    return ids[static_cast<std::size_t>(below(static_cast<std::int64_t>(ids.size())))];
  }
  std::int64_t length_of(std::int64_t id) {
    const Result<std::int32_t> length = world_.cache.length(id);
    return length.ok() ? *length : 0;
  }
  void count(const Status& status) {
    if (!status.ok() && status.error().code == Code::exhausted) ++exhausted_;
  }

  void play_one() {
    const std::int64_t choice = below(100);
    if (choice < 8) {
      (void)world_.add(below(id_limit));
    } else if (choice < 18) {
      (void)world_.remove(some_id());
    } else if (choice < 32) {
      const std::int64_t id = some_id();
      const std::int64_t size = world_.cache.config().page_size;
      std::int64_t position = below(length_of(id) + 2) - 1;
      if (below(3) == 0) position = position / size * size;
      const Status status = world_.fork(id, below(id_limit), position);
      forks_ += status.ok() ? 1 : 0;
      count(status);
    } else if (choice < 44) {
      const std::int64_t id = some_id();
      const std::int64_t limit = below(3) == 0 ? length_of(id) + 2 : 6;
      count(world_.pop(id, below(limit)));
    } else if (choice < 48) {
      const std::int64_t window = 3 + below(30);
      (void)world_.enable_window(some_id(), window, below(window));
    } else if (below(2000) == 0) {
      world_.clear();
    } else {
      forward();
    }
  }

  void forward() {
    const KvConfig& config = world_.cache.config();
    Numbers ids = world_.ids(), lengths;
    std::ranges::shuffle(ids, random_);
    // Neighbours often share blocks.
    if (below(2) == 0) std::ranges::sort(ids);
    const std::int64_t count_wanted = 1 + below(config.max_batch);
    if (std::cmp_less(count_wanted, ids.size())) ids.resize(static_cast<std::size_t>(count_wanted));
    std::int64_t left = config.prefill_chunk;
    const bool decode = below(2) == 0;
    std::int64_t pages = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      lengths.push_back(decode ? 1 : 1 + below(std::max<std::int64_t>(left / 2, 1)));
      left -= lengths.back();
      pages += pages_of(lengths.back(), config.page_size) + 1;
    }
    Numbers parents;
    if (below(8) == 0 && !config.sliding_window) {
      for (const std::int64_t length : lengths) {
        for (std::int64_t token = 0; token < length; ++token) parents.push_back(token - 1);
      }
    }
    const std::int32_t free = world_.cache.free_page_count();
    const Status status = world_.forward(ids, lengths, parents);
    passes_ += status.ok() ? 1 : 0;
    if (status.ok() && !parents.empty()) {
      Numbers leaves;
      for (const std::int64_t length : lengths) leaves.push_back(below(length + 1) - 1);
      EXPECT_TRUE(world_.accept(ids, leaves).ok());
    }
    count(status);
    if (status.ok() || ids.empty() || left < 0) return;
    EXPECT_EQ(status.error().code, Code::exhausted) << status.error().message;
    EXPECT_LT(free, pages);
  }

  static constexpr std::int64_t id_limit = 16;
  World world_;
  std::mt19937 random_;
  int passes_ = 0, exhausted_ = 0, forks_ = 0;
};

TEST(KvCache, AgreesWithAPlainReference) { Player({8, 200, 40, 4, 0}, 1).play(10000); }

TEST(KvCache, AgreesWithAPlainReferenceInLargePages) { Player({8, 400, 60, 16, 0}, 2).play(2000); }

TEST(KvCache, AgreesWithAPlainReferenceInPagesOfOneToken) {
  Player({8, 100, 20, 1, 0}, 3).play(2000);
}

TEST(KvCache, AgreesWithAPlainReferenceWithSlidingWindow) {
  Player({4, 120, 40, 4, 1}, 4).play(10000);
}

TEST(KvCache, AgreesWithAPlainReferenceWithSlidingWindowInLargePages) {
  Player({4, 200, 60, 16, 1}, 5).play(2000);
}

}  // namespace
}  // namespace gantry::relax::test
