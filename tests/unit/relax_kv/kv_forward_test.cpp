// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/kv_cache/kv_forward.hpp"

#include "tests/fuzz/budget.hpp"
#include "tests/unit/relax_kv/counted_memory.hpp"
#include "tests/unit/relax_kv/world.hpp"

#include <gmock/gmock.h>

namespace gantry::relax::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void expect_refused(const Status& status, Code code, std::string_view reason,
                    std::string_view message) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, code);
  EXPECT_EQ(status.error().reason, reason);
  EXPECT_EQ(status.error().message, message);
}

// Pages of 4 tokens.
class KvForwardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::int64_t id : {0, 1, 2}) ASSERT_TRUE(world.add(id).ok());
  }
  const KvTables& tables() const { return world.pass.tables(); }
  const KvDepth& depth(std::size_t d) const { return tables().depths[d]; }

  World world{{4, 64, 32, 4, 0}};
};

TEST_F(KvForwardTest, HasNoTablesBeforeTheFirst) {
  EXPECT_EQ(tables().batch, 0);
  EXPECT_FALSE(world.pass.active());
  EXPECT_THAT(world.pass.contents(), IsEmpty());
}

TEST_F(KvForwardTest, AttendsToNewTokensOnlyInAnEmptyCache) {
  ASSERT_TRUE(world.forward({1, 0}, {5, 2}).ok());

  EXPECT_EQ(tables().batch, 2);
  EXPECT_EQ(tables().tokens, 7);
  EXPECT_FALSE(tables().append_before);
  EXPECT_EQ(tables().depth_count, 1);
  EXPECT_FALSE(depth(0).decode);
  EXPECT_THAT(world.table(tables().q_rope_position), ElementsAre(0, 1, 2, 3, 4, 0, 1));
  EXPECT_THAT(world.table(tables().append_indptr), ElementsAre(0, 5, 7));
  EXPECT_THAT(world.table(tables().append_rope_offset), ElementsAre(0, 0));
  EXPECT_THAT(world.table(tables().append_position), ElementsAre(0, 1, 2, 3, 4, 8, 9));
  EXPECT_THAT(world.table(depth(0).qo_indptr), ElementsAre(0, 5, 7));
  EXPECT_THAT(world.table(depth(0).page_indptr), ElementsAre(0, 0, 0));
  EXPECT_THAT(world.table(depth(0).page_indices), IsEmpty());
  EXPECT_THAT(world.table(depth(0).length_info), ElementsAre(0, 0));
  EXPECT_THAT(world.table(depth(0).k_rope_offset), ElementsAre(0, 0));
}

TEST_F(KvForwardTest, AlignsTables) {
  ASSERT_TRUE(world.forward({1, 0}, {5, 2}).ok());

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(world.pass.contents().data()) % 64, 0u);
  EXPECT_EQ(tables().q_rope_position.offset, 0);
  std::int32_t end = tables().q_rope_position.size;
  for (const KvTable& table : {depth(0).qo_indptr, depth(0).page_indptr, depth(0).page_indices,
                               depth(0).length_info, depth(0).k_rope_offset, tables().append_indptr,
                               tables().append_rope_offset, tables().append_position}) {
    EXPECT_EQ(table.offset, (end + 3) / 4 * 4);
    end = table.offset + table.size;
  }
  EXPECT_EQ(world.pass.contents().size(), static_cast<std::size_t>(end));
}

TEST_F(KvForwardTest, AttendsToTokensBeforeTheChunk) {
  ASSERT_TRUE(world.forward({0}, {6}).ok());

  ASSERT_TRUE(world.forward({0}, {3}).ok());

  EXPECT_FALSE(tables().append_before);
  EXPECT_THAT(world.table(depth(0).page_indices), ElementsAre(0, 1));
  EXPECT_THAT(world.table(depth(0).length_info), ElementsAre(2));
  EXPECT_THAT(world.table(tables().append_rope_offset), ElementsAre(6));
  EXPECT_THAT(world.table(tables().append_position), ElementsAre(6, 7, 8));
}

TEST_F(KvForwardTest, DecodesWithTheNewTokensInTheirPages) {
  ASSERT_TRUE(world.forward({0, 1}, {4, 3}).ok());

  ASSERT_TRUE(world.forward({0, 1}, {1, 1}).ok());

  EXPECT_TRUE(tables().append_before);
  EXPECT_TRUE(depth(0).decode);
  EXPECT_THAT(world.table(depth(0).page_indptr), ElementsAre(0, 2, 3));
  EXPECT_THAT(world.table(depth(0).page_indices), ElementsAre(0, 2, 1));
  EXPECT_THAT(world.table(depth(0).length_info), ElementsAre(1, 4));
  EXPECT_THAT(world.table(tables().append_position), ElementsAre(8, 7));
}

TEST_F(KvForwardTest, AttendsToASharedBlockOnceForNeighbours) {
  ASSERT_TRUE(world.forward({0}, {10}).ok());
  ASSERT_TRUE(world.fork(0, 5).ok());
  ASSERT_TRUE(world.fork(0, 6).ok());

  ASSERT_TRUE(world.forward({0, 5, 1, 6}, {2, 3, 4, 5}).ok());

  EXPECT_EQ(tables().depth_count, 2);
  EXPECT_EQ(depth(0).entry_count, 3);
  EXPECT_THAT(world.table(depth(0).qo_indptr), ElementsAre(0, 5, 9, 14));
  EXPECT_THAT(world.table(depth(0).page_indptr), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(world.table(depth(0).length_info), ElementsAre(4, 0, 4));
  EXPECT_THAT(world.table(depth(1).qo_indptr), ElementsAre(0, 2, 5, 9, 14));
  EXPECT_THAT(world.table(depth(1).page_indptr), ElementsAre(0, 1, 2, 2, 3));
  EXPECT_THAT(world.table(depth(1).length_info), ElementsAre(2, 2, 0, 2));
  EXPECT_THAT(world.table(depth(1).k_rope_offset), ElementsAre(8, 8, 0, 8));
}

// A block and those of its forks' forks.
TEST_F(KvForwardTest, JoinsTheBlocksAfterTheFirst) {
  ASSERT_TRUE(world.forward({0}, {13}).ok());
  ASSERT_TRUE(world.fork(0, 5, 4).ok());
  ASSERT_TRUE(world.fork(0, 6, 10).ok());

  ASSERT_TRUE(world.forward({0, 6}, {2, 1}).ok());

  EXPECT_EQ(tables().depth_count, 2);
  EXPECT_THAT(world.table(depth(0).page_indices), ElementsAre(0));
  EXPECT_THAT(world.table(depth(1).page_indptr), ElementsAre(0, 3, 5));
  EXPECT_THAT(world.table(depth(1).page_indices), ElementsAre(1, 2, 3, 1, 4));
  EXPECT_THAT(world.table(depth(1).length_info), ElementsAre(1, 2));
  EXPECT_THAT(world.table(depth(1).k_rope_offset), ElementsAre(4, 4));
}

class KvSharedDecode : public ::testing::TestWithParam<std::int64_t> {};
TEST_P(KvSharedDecode, UsesThePrefillKernelFrom32ReadsOfAPageOn) {
  const std::int64_t count = GetParam();
  World world{{64, 256, 64, 4, 0}};
  ASSERT_TRUE(world.add(0).ok());
  ASSERT_TRUE(world.forward({0}, {8}).ok());
  Numbers ids{0};
  while (std::cmp_less(ids.size(), count)) {
    ids.push_back(static_cast<std::int64_t>(ids.size()));
    ASSERT_TRUE(world.fork(0, ids.back()).ok());
  }

  ASSERT_TRUE(world.forward(ids, Numbers(ids.size(), 1)).ok());

  const KvTables& tables = world.pass.tables();
  EXPECT_EQ(tables.depths[0].decode, count < 32);
  EXPECT_EQ(tables.depths[0].entry_count, count < 32 ? count : 1);
  EXPECT_TRUE(tables.depths[1].decode);
  EXPECT_TRUE(tables.append_before);
}
INSTANTIATE_TEST_SUITE_P(Sequences, KvSharedDecode, ::testing::Values(2, 31, 32, 40));

// The second block of each chain is the same, and those after it differ.
TEST(KvSharedDecode, AppendsAfterAttentionIfTheLastDepthUsesThePrefillKernel) {
  World world{{64, 256, 64, 4, 0}};
  ASSERT_TRUE(world.add(0).ok());
  ASSERT_TRUE(world.forward({0}, {16}).ok());
  ASSERT_TRUE(world.fork(0, 100, 4).ok());
  Numbers ids{0};
  while (ids.size() < 32) {
    ids.push_back(static_cast<std::int64_t>(ids.size()));
    ASSERT_TRUE(world.fork(0, ids.back()).ok());
  }

  ASSERT_TRUE(world.forward(ids, Numbers(ids.size(), 1)).ok());

  const KvTables& tables = world.pass.tables();
  EXPECT_FALSE(tables.depths[1].decode);
  EXPECT_EQ(tables.depths[1].entry_count, 32);
  EXPECT_FALSE(tables.append_before);
}

TEST(KvSlidingForward, HasTheWindowInLengthInfo) {
  World world{{2, 64, 32, 4, 1}};
  ASSERT_TRUE(world.add(0).ok());
  ASSERT_TRUE(world.add(1).ok());
  ASSERT_TRUE(world.enable_window(0, 10, 2).ok());
  ASSERT_TRUE(world.forward({0, 1}, {13, 3}).ok());

  ASSERT_TRUE(world.forward({0, 1}, {1, 1}).ok());

  const KvDepth& depth = world.pass.tables().depths[0];
  EXPECT_FALSE(world.pass.tables().append_before);
  EXPECT_TRUE(depth.decode);
  EXPECT_THAT(world.table(depth.length_info), ElementsAre(1, 3, 5, 0, 2, 0));
}

// A joined chain of blocks, of which the last slides.
TEST(KvSlidingForward, CountsSharedTokensAsSink) {
  World world{{2, 64, 32, 4, 1}};
  ASSERT_TRUE(world.add(0).ok());
  ASSERT_TRUE(world.forward({0}, {9}).ok());
  ASSERT_TRUE(world.fork(0, 1, 4).ok());
  ASSERT_TRUE(world.fork(0, 2, 8).ok());
  ASSERT_TRUE(world.enable_window(2, 12, 2).ok());
  ASSERT_TRUE(world.forward({2}, {7}).ok());

  ASSERT_TRUE(world.forward({2}, {1}).ok());

  EXPECT_THAT(world.table(world.pass.tables().depths[1].length_info), ElementsAre(3, 7, 4));
}

TEST(KvSlidingForward, DoesNotWriteTokensThatLeaveTheWindowAtOnce) {
  World world{{2, 64, 32, 4, 1}};
  ASSERT_TRUE(world.add(0).ok());
  ASSERT_TRUE(world.enable_window(0, 4, 1).ok());

  ASSERT_TRUE(world.forward({0}, {9}).ok());

  EXPECT_THAT(world.table(world.pass.tables().append_position),
              ElementsAre(0, -1, -1, -1, -1, -1, 6, 7, 8));
}

TEST(KvSlidingForward, RefusesParents) {
  World world{{2, 64, 32, 4, 1}};
  ASSERT_TRUE(world.add(0).ok());

  expect_refused(world.forward({0}, {2}, {-1, 0}), Code::unsupported, "KV_TREE",
                 "token trees are not supported in a KV cache with sliding window");
}

// lm_paged_llvm.json, calls 0 to 70.
TEST(KvGolden, CountsTheTokensAndPagesThatTvmCounts) {
  World world{{4, 128, 32, 16, 0, 1024}};
  ASSERT_TRUE(world.add(0).ok());
  ASSERT_TRUE(world.forward({0}, {10}).ok());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(world.forward({0}, {1}).ok());
  EXPECT_EQ(world.cache.total_length(), 16);
  EXPECT_EQ(world.cache.free_page_count(), 8);
  ASSERT_TRUE(world.forward({0}, {4}).ok());
  ASSERT_TRUE(world.add(7).ok());
  ASSERT_TRUE(world.forward({0, 7}, {2, 6}).ok());
  ASSERT_TRUE(world.forward({0, 7}, {1, 1}).ok());
  ASSERT_TRUE(world.fork(0, 3, -1).ok());
  ASSERT_TRUE(world.pop(3, 3).ok());
  ASSERT_TRUE(world.forward({3}, {1}).ok());
  ASSERT_TRUE(world.forward({0}, {1}).ok());
  ASSERT_TRUE(world.fork(7, 4, 5).ok());
  ASSERT_TRUE(world.forward({4}, {1}).ok());
  ASSERT_TRUE(world.remove(7).ok());
  EXPECT_EQ(world.cache.free_page_count(), 5);
  expect_refused(world.forward({99}, {1}), Code::not_found, "KV_SEQUENCE",
                 "The sequence \"99\" cannot be found in KV cache.");
  world.clear();
  EXPECT_TRUE(world.cache.empty());
}

// lm_paged_sliding.json.
TEST(KvGolden, SlidesAsTvmDoes) {
  World world{{2, 64, 32, 16, 1, 1024}};
  ASSERT_TRUE(world.add(0).ok());
  ASSERT_TRUE(world.enable_window(0, 12, 2).ok());
  ASSERT_TRUE(world.forward({0}, {9}).ok());
  for (int i = 0; i < 31; ++i) ASSERT_TRUE(world.forward({0}, {1}).ok());
  ASSERT_TRUE(world.forward({0}, {8}).ok());

  EXPECT_EQ(world.cache.free_page_count(), 7);
  EXPECT_EQ(world.cache.total_length(), 12);
  EXPECT_THAT(world.table(world.pass.tables().q_rope_position),
              ElementsAre(12, 13, 14, 15, 16, 17, 18, 19));
}

TEST_F(KvForwardTest, TakesAChainOfTokens) {
  ASSERT_TRUE(world.forward({0, 1}, {3, 2}, {-1, 0, 1, -1, 0}).ok());

  EXPECT_THAT(world.table(tables().q_rope_position), ElementsAre(0, 1, 2, 0, 1));
}

TEST_F(KvForwardTest, KeepsTheAcceptedTokensOfAChain) {
  ASSERT_TRUE(world.forward({0, 1, 2}, {6, 3, 2}, {-1, 0, 1, 2, 3, 4, -1, 0, 1, -1, 0}).ok());

  ASSERT_TRUE(world.accept({1, 0}, {-1, 1}).ok());

  EXPECT_EQ(world.tokens(0).size(), 2u);
  EXPECT_EQ(world.tokens(1).size(), 0u);
  EXPECT_EQ(world.tokens(2).size(), 2u);
  ASSERT_TRUE(world.accept({2}, {1}).ok());
  EXPECT_EQ(world.tokens(2).size(), 2u);
}

TEST_F(KvForwardTest, RefusesToAcceptOtherTokens) {
  ASSERT_TRUE(world.forward({0, 1}, {3, 2}, {-1, 0, 1, -1, 0}).ok());

  expect_refused(world.accept({0, 1}, {1}), Code::invalid, "ARGUMENT_SHAPE",
                 "tokens of 2 sequences are accepted with 1 leaves, the numbers must be equal");
  expect_refused(world.accept({0, 0}, {1, 1}), Code::invalid, "KV_SEQUENCE",
                 "sequence 0 occurs twice");
  expect_refused(world.accept({0, 99}, {1, 1}), Code::not_found, "KV_SEQUENCE",
                 "The sequence \"99\" cannot be found in KV cache.");
  expect_refused(world.accept({0, 2}, {1, 1}), Code::invalid, "KV_SEQUENCE",
                 "sequence 2 has no new tokens with parents to accept");
  expect_refused(world.accept({0, 1}, {1, 2}), Code::invalid, "ARGUMENT_RANGE",
                 "leaf of sequence 1 is 2, range is -1..1");
  expect_refused(world.accept({0, 1}, {-2, 1}), Code::invalid, "ARGUMENT_RANGE",
                 "leaf of sequence 0 is -2, range is -1..2");
}

TEST_F(KvForwardTest, RefusesToAcceptTokensTwice) {
  ASSERT_TRUE(world.forward({0}, {3}, {-1, 0, 1}).ok());
  ASSERT_TRUE(world.accept({0}, {2}).ok());

  expect_refused(world.accept({0}, {1}), Code::invalid, "KV_SEQUENCE",
                 "sequence 0 has no new tokens with parents to accept");
}

TEST_F(KvForwardTest, RefusesToAcceptTokensOfAPassWithoutParents) {
  ASSERT_TRUE(world.forward({0}, {3}, {-1, 0, 1}).ok());
  ASSERT_TRUE(world.forward({0}, {3}).ok());

  expect_refused(world.accept({0}, {1}), Code::invalid, "KV_SEQUENCE",
                 "sequence 0 has no new tokens with parents to accept");
}

TEST_F(KvForwardTest, RefusesToAcceptTokensThatHaveChanged) {
  ASSERT_TRUE(world.forward({0, 1}, {3, 2}, {-1, 0, 1, -1, 0}).ok());
  ASSERT_TRUE(world.pop(1, 1).ok());

  expect_refused(world.accept({0, 1}, {1, 1}), Code::invalid, "KV_SEQUENCE",
                 "sequence 1 has changed since its pass, its last block has 1 tokens, new tokens "
                 "are 2");
}

TEST_F(KvForwardTest, RefusesATreeOfTokens) {
  expect_refused(world.forward({0, 1}, {3, 3}, {-1, 0, 1, -1, 0, 0}), Code::unsupported, "KV_TREE",
                 "tree attention is not supported: parent of new token 2 of sequence 1 is 0, a "
                 "chain has 1");
}

TEST_F(KvForwardTest, RefusesWrongParents) {
  expect_refused(world.forward({0}, {3}, {-1, 0}), Code::invalid, "ARGUMENT_SHAPE",
                 "forward pass has 3 new tokens and 2 parents of tokens, the numbers must be "
                 "equal");
  expect_refused(world.forward({0}, {3}, {-1, 0, 2}), Code::invalid, "ARGUMENT_RANGE",
                 "parent of new token 2 of sequence 0 is 2, range is -1..1");
  expect_refused(world.forward({0}, {3}, {-2, 0, 1}), Code::invalid, "ARGUMENT_RANGE",
                 "parent of new token 0 of sequence 0 is -2, range is -1..-1");
}

TEST_F(KvForwardTest, RefusesWrongCounts) {
  expect_refused(world.forward({0, 1}, {1}), Code::invalid, "ARGUMENT_SHAPE",
                 "forward pass has 2 sequences and 1 lengths, the numbers must be equal");
  expect_refused(world.forward({}, {}), Code::invalid, "ARGUMENT_RANGE",
                 "forward pass has 0 sequences, range is 1..4");
  expect_refused(world.forward({0, 1, 2, 3, 4}, {1, 1, 1, 1, 1}), Code::invalid, "ARGUMENT_RANGE",
                 "forward pass has 5 sequences, range is 1..4");
  expect_refused(world.forward({0, 1}, {1, 0}), Code::invalid, "ARGUMENT_RANGE",
                 "sequence 1 has 0 new tokens, minimum is 1");
  expect_refused(world.forward({0, 1}, {30, 3}), Code::invalid, "ARGUMENT_RANGE",
                 "sequence 1 has 3 new tokens, 2 are left of prefill_chunk 32");
  EXPECT_TRUE(world.forward({0, 1}, {30, 2}).ok());
}

TEST_F(KvForwardTest, RefusesASequenceTwice) {
  expect_refused(world.forward({1, 0, 1}, {1, 1, 1}), Code::invalid, "KV_SEQUENCE",
                 "sequence 1 occurs twice");
}

TEST_F(KvForwardTest, RefusesMoreTokensThanFreePagesHold) {
  ASSERT_TRUE(world.forward({0}, {32}).ok());
  ASSERT_TRUE(world.forward({1}, {23}).ok());

  expect_refused(world.forward({1, 2, 0}, {1, 8, 5}), Code::exhausted, "KV_FULL",
                 "KV cache has 1 free pages of 17, sequence 0 requires 2 for 5 new tokens");
  EXPECT_TRUE(world.forward({1, 2, 0}, {1, 8, 4}).ok());
}

// 2,100 sequences that share 2^20 pages, which are in the tables for each.
TEST(KvForwardSize, IsLimited) {
  constexpr std::int64_t shared = std::int64_t{1} << 20;
  KvSequences sequences{*read_kv_config(Numbers{2100, shared + 2200, shared, 1, 0})};
  KvForward pass{sequences};
  ASSERT_TRUE(sequences.add(0).ok());
  ASSERT_TRUE(pass.begin(Numbers{0}, Numbers{1}).ok());
  ASSERT_TRUE(sequences.fork(0, 5000, -1).ok());
  ASSERT_TRUE(pass.begin(Numbers{0}, Numbers{shared}).ok());
  Numbers ids{0};
  while (ids.size() < 2100) {
    ids.push_back(static_cast<std::int64_t>(ids.size()));
    ASSERT_TRUE(sequences.fork(0, ids.back(), -1).ok());
  }

  expect_refused(pass.begin(ids, Numbers(ids.size(), 1)), Code::exhausted, "KV_FULL",
                 "tables of a forward pass of 2100 sequences have 2202032754 numbers, limit is "
                 "2147483647");
  EXPECT_EQ(*sequences.length(0), shared + 1);
}

// 50 sequences, each of which is a chain of 200 blocks.
TEST(KvForwardSize, IsCounted) {
  constexpr std::int64_t blocks = 200, batch = 50;
  CountedMemory memory;
  KvSequences sequences{*read_kv_config(Numbers{batch, 1000, batch, 1, 0}), &memory};
  {
    KvForward pass{sequences};
    ASSERT_TRUE(sequences.add(0).ok());
    for (std::int64_t id = 1; id <= blocks; ++id) {
      ASSERT_TRUE(pass.begin(Numbers{id - 1}, Numbers{1}).ok());
      ASSERT_TRUE(sequences.fork(id - 1, id, -1).ok());
    }
  }
  Numbers ids;
  for (std::int64_t id = 1000; id < 1000 + batch; ++id) {
    ids.push_back(id);
    ASSERT_TRUE(sequences.fork(blocks, id, -1).ok());
  }
  const std::size_t before = memory.bytes();
  KvForward pass{sequences};

  ASSERT_TRUE(pass.begin(ids, Numbers(ids.size(), 1)).ok());

  EXPECT_GE(memory.bytes() - before,
            (pass.contents().size() + blocks * batch) * sizeof(std::int32_t));
}

// After the first decode step. A list of pages grows where the number of pages doubles.
TEST_F(KvForwardTest, DecodesWithoutAllocations) {
  KvSequences sequences{*read_kv_config(Numbers{4, 64, 32, 16, 0})};
  KvForward pass{sequences};
  const Numbers ids{0, 1}, lengths{8, 8}, ones{1, 1};
  for (const std::int64_t id : ids) ASSERT_TRUE(sequences.add(id).ok());
  ASSERT_TRUE(pass.begin(ids, lengths).ok());
  ASSERT_TRUE(pass.begin(ids, ones).ok());
  bool ok = true;

  const fuzz::Budget budget(0, {.nanoseconds_for_free = 1'000'000'000});
  for (int i = 0; i < 7; ++i) ok = pass.begin(ids, ones).ok() && ok;
  const std::int64_t bytes = budget.peak_bytes();

  EXPECT_TRUE(ok);
  EXPECT_EQ(bytes, 0);
}

}  // namespace
}  // namespace gantry::relax::test
