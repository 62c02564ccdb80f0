// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/kv_cache/kv_sequences.hpp"

#include "tests/unit/relax_kv/counted_memory.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace gantry::relax::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Copy = std::optional<KvPageCopy>;

// Nine pages of 4 tokens.
KvConfig small_config(std::int64_t sliding_window = 0) {
  return *read_kv_config(
      std::vector<std::int64_t>{2, sliding_window != 0 ? 16 : 32, 64, 4, sliding_window});
}

class KvSequencesTest : public ::testing::Test {
 protected:
  // Creates a sequence of some tokens, or appends to one.
  static void append(KvSequences& sequences, std::int64_t id, std::int32_t tokens) {
    if (!sequences.length(id).ok()) {
      ASSERT_TRUE(sequences.add(id).ok());
    }
    const KvAppend append = sequences.plan_append(**sequences.find(id), tokens);
    sequences.reserve_pages(append);
    sequences.reserve_new_pages(sequences.new_pages(append));
    sequences.append(append);
  }
  void append(std::int64_t id, std::int32_t tokens) { append(sequences, id, tokens); }

  static const KvBlock& last_block(const KvSequences& sequences, std::int64_t id) {
    return sequences.blocks()[(*sequences.find(id))->last_block];
  }
  const KvBlock& last_block(std::int64_t id) const { return last_block(sequences, id); }

  std::vector<std::int32_t> slots(std::int64_t id) const {
    std::vector<std::int32_t> slots(static_cast<std::size_t>(*sequences.length(id)));
    EXPECT_TRUE(sequences.slots(id, 0, *sequences.length(id), slots).ok());
    return slots;
  }

  static void expect_refused(const Status& status, Code code, std::string_view reason,
                             std::string_view message) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code);
    EXPECT_EQ(status.error().reason, reason);
    EXPECT_EQ(status.error().message, message);
  }
  template <class Value>
  static void expect_refused(Result<Value> result, Code code, std::string_view reason,
                             std::string_view message) {
    ASSERT_FALSE(result.ok());
    expect_refused(Status(std::move(result).error()), code, reason, message);
  }
  static constexpr auto missing = "The sequence \"99\" cannot be found in KV cache.";

  KvSequences sequences{small_config()};
};

TEST_F(KvSequencesTest, BeginEmpty) {
  EXPECT_TRUE(sequences.empty());
  EXPECT_EQ(sequences.free_page_count(), 9);
  EXPECT_EQ(sequences.total_length(), 0);

  ASSERT_TRUE(sequences.add(5).ok());

  EXPECT_FALSE(sequences.empty());
  EXPECT_EQ(*sequences.length(5), 0);
  EXPECT_EQ(sequences.free_page_count(), 9);
}

TEST_F(KvSequencesTest, TakePageZeroFirstAndThenThePageFreedLast) {
  append(0, 9);
  EXPECT_THAT(last_block(0).pages, ElementsAre(0, 1, 2));

  ASSERT_TRUE(sequences.remove(0).ok());
  append(1, 9);

  EXPECT_THAT(last_block(1).pages, ElementsAre(2, 1, 0));
}

TEST_F(KvSequencesTest, CountTokensAndPages) {
  append(0, 9);
  append(1, 4);

  EXPECT_EQ(*sequences.length(0), 9);
  EXPECT_EQ(*sequences.length(1), 4);
  EXPECT_EQ(sequences.total_length(), 13);
  EXPECT_EQ(sequences.free_page_count(), 5);
}

TEST_F(KvSequencesTest, AreRemovedByClear) {
  append(0, 9);
  append(1, 4);

  sequences.clear();

  EXPECT_TRUE(sequences.empty());
  EXPECT_EQ(sequences.free_page_count(), 9);
  append(0, 5);
  EXPECT_THAT(last_block(0).pages, ElementsAre(0, 1));
}

TEST_F(KvSequencesTest, RefuseASecondSequenceOfAnId) {
  append(0, 9);

  expect_refused(sequences.add(0), Code::invalid, "KV_SEQUENCE",
                 "The sequence \"0\" is already in the KV cache.");
}

TEST_F(KvSequencesTest, RefuseAnUnknownSequence) {
  append(0, 9);

  expect_refused(sequences.remove(99), Code::not_found, "KV_SEQUENCE", missing);
  expect_refused(sequences.fork(99, 1, -1), Code::not_found, "KV_SEQUENCE", missing);
  expect_refused(sequences.pop(99, 1), Code::not_found, "KV_SEQUENCE", missing);
  expect_refused(sequences.length(99), Code::not_found, "KV_SEQUENCE", missing);
  expect_refused(sequences.find(99), Code::not_found, "KV_SEQUENCE", missing);
  expect_refused(sequences.slots(99, 0, 0, {}), Code::not_found, "KV_SEQUENCE", missing);
  KvSequences sliding{small_config(1)};
  expect_refused(sliding.enable_window(99, 8, 0), Code::not_found, "KV_SEQUENCE", missing);
}

TEST_F(KvSequencesTest, ShareWholePagesWithAForkAndCopyThePartlyFilledOne) {
  append(0, 11);

  const Result<Copy> copy = sequences.fork(0, 3, -1);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, (KvPageCopy{2, 3, 3}));
  EXPECT_THAT(slots(0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(slots(3), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14));
  EXPECT_EQ(last_block(0).start, 8);
  EXPECT_EQ(last_block(3).start, 8);
  EXPECT_EQ(last_block(0).parent, last_block(3).parent);
  EXPECT_EQ(sequences.blocks()[last_block(0).parent].references, 2);
  EXPECT_EQ(sequences.free_page_count(), 5);
}

TEST_F(KvSequencesTest, CopyNothingForAForkAtTheStartOfAPage) {
  append(0, 11);

  const Result<Copy> copy = sequences.fork(0, 3, 8);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, std::nullopt);
  EXPECT_EQ(*sequences.length(3), 8);
  EXPECT_THAT(last_block(3).pages, IsEmpty());
  append(3, 1);
  EXPECT_THAT(slots(3), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 12));
}

TEST_F(KvSequencesTest, CopyFromTheFirstPageForAForkInsideIt) {
  append(0, 11);

  const Result<Copy> copy = sequences.fork(0, 3, 2);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, (KvPageCopy{0, 3, 2}));
  EXPECT_EQ(last_block(0).parent, no_block);
  EXPECT_EQ(last_block(3).parent, no_block);
}

// The shared block accepts no more tokens, so both sequences continue in new ones.
TEST_F(KvSequencesTest, BothContinueAfterAForkAtTheEndOfAFullPage) {
  append(0, 8);

  const Result<Copy> copy = sequences.fork(0, 3, -1);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, std::nullopt);
  append(0, 1);
  append(3, 1);
  EXPECT_THAT(slots(0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(slots(3), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 12));
}

TEST_F(KvSequencesTest, ForkAnEmptySequence) {
  append(0, 1);
  ASSERT_TRUE(sequences.pop(0, 1).ok());

  ASSERT_TRUE(sequences.fork(0, 3, -1).ok());

  EXPECT_EQ(*sequences.length(3), 0);
  EXPECT_EQ(last_block(3).parent, no_block);
}

TEST_F(KvSequencesTest, ForkInsideABlockThatIsShared) {
  append(0, 15);
  ASSERT_TRUE(sequences.fork(0, 1, 12).ok());

  const Result<Copy> copy = sequences.fork(1, 2, 5);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, (KvPageCopy{1, 4, 1}));
  EXPECT_THAT(slots(2), ElementsAre(0, 1, 2, 3, 16));
  EXPECT_THAT(slots(1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(sequences.blocks()[last_block(2).parent].references, 2);
}

TEST_F(KvSequencesTest, KeepSharedPagesUntilTheLastOfThemIsRemoved) {
  append(0, 11);
  ASSERT_TRUE(sequences.fork(0, 3, -1).ok());

  ASSERT_TRUE(sequences.remove(0).ok());
  EXPECT_EQ(sequences.free_page_count(), 6);
  EXPECT_THAT(slots(3), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14));

  ASSERT_TRUE(sequences.remove(3).ok());
  EXPECT_EQ(sequences.free_page_count(), 9);
}

TEST_F(KvSequencesTest, RefuseAForkToAnExistingSequence) {
  append(0, 11);
  append(1, 1);

  expect_refused(sequences.fork(0, 1, -1), Code::invalid, "KV_SEQUENCE",
                 "The sequence \"1\" is already in the KV cache.");
}

TEST_F(KvSequencesTest, RefuseAForkOutsideTheSequence) {
  append(0, 11);

  expect_refused(sequences.fork(0, 1, 12), Code::invalid, "ARGUMENT_RANGE",
                 "position of a fork of sequence 0 is 12, range is 0..11");
  expect_refused(sequences.fork(0, 1, -2), Code::invalid, "ARGUMENT_RANGE",
                 "position of a fork of sequence 0 is -2, range is 0..11");
}

TEST_F(KvSequencesTest, RefuseAForkWithoutAFreePageForItsCopy) {
  append(0, 35);

  expect_refused(sequences.fork(0, 1, -1), Code::exhausted, "KV_FULL",
                 "KV cache has 0 free pages of 9, the fork at token 35 of sequence 0 requires 1");
  EXPECT_FALSE(sequences.length(1).ok());
  // Without a copy, no page is required.
  EXPECT_TRUE(sequences.fork(0, 1, 32).ok());
}

TEST_F(KvSequencesTest, FreeThePagesOfPoppedTokens) {
  append(0, 11);

  const Result<Copy> copy = sequences.pop(0, 3);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, std::nullopt);
  EXPECT_EQ(*sequences.length(0), 8);
  EXPECT_EQ(sequences.free_page_count(), 7);
  ASSERT_TRUE(sequences.pop(0, 8).ok());
  EXPECT_EQ(sequences.free_page_count(), 9);
  EXPECT_EQ(*sequences.length(0), 0);
}

TEST_F(KvSequencesTest, CopyASharedPageInWhichASequenceEndsAfterAPop) {
  append(0, 11);
  ASSERT_TRUE(sequences.fork(0, 3, -1).ok());

  const Result<Copy> copy = sequences.pop(3, 5);

  // The page of the removed tokens is reused.
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, (KvPageCopy{1, 3, 2}));
  EXPECT_THAT(slots(3), ElementsAre(0, 1, 2, 3, 12, 13));
  EXPECT_THAT(slots(0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(sequences.free_page_count(), 5);
}

TEST_F(KvSequencesTest, CopyToAPageThatThePopFreesIfNoneIsFree) {
  append(0, 8);
  ASSERT_TRUE(sequences.fork(0, 1, -1).ok());
  append(0, 24);
  append(1, 4);
  ASSERT_EQ(sequences.free_page_count(), 0);

  const Result<Copy> copy = sequences.pop(1, 6);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, (KvPageCopy{1, 8, 2}));
}

TEST_F(KvSequencesTest, PopTokensOfSeveralBlocksThatAreNotShared) {
  append(0, 11);
  ASSERT_TRUE(sequences.fork(0, 3, -1).ok());
  ASSERT_TRUE(sequences.remove(0).ok());

  const Result<Copy> copy = sequences.pop(3, 8);

  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(*copy, std::nullopt);
  EXPECT_THAT(slots(3), ElementsAre(0, 1, 2));
  EXPECT_EQ(sequences.free_page_count(), 8);
}

TEST_F(KvSequencesTest, RefuseToPopMoreTokensThanThereAre) {
  append(0, 11);

  expect_refused(sequences.pop(0, 12), Code::invalid, "ARGUMENT_RANGE",
                 "number of tokens to remove from sequence 0 is 12, range is 0..11");
  expect_refused(sequences.pop(0, -1), Code::invalid, "ARGUMENT_RANGE",
                 "number of tokens to remove from sequence 0 is -1, range is 0..11");
}

TEST_F(KvSequencesTest, RefuseAPopWithoutAFreePageForItsCopy) {
  append(0, 8);
  ASSERT_TRUE(sequences.fork(0, 1, -1).ok());
  append(0, 28);
  ASSERT_EQ(sequences.free_page_count(), 0);

  expect_refused(sequences.pop(1, 2), Code::exhausted, "KV_FULL",
                 "KV cache has 0 free pages of 9, sequence 1 requires 1 to end at token 6 of a "
                 "shared page");
  EXPECT_EQ(*sequences.length(1), 8);
  EXPECT_TRUE(sequences.pop(1, 4).ok());
}

TEST_F(KvSequencesTest, RefuseSlotsOutsideTheSequence) {
  append(0, 11);
  std::vector<std::int32_t> slots(3);

  ASSERT_TRUE(sequences.slots(0, 8, 11, slots).ok());
  EXPECT_THAT(slots, ElementsAre(8, 9, 10));
  expect_refused(sequences.slots(0, 9, 12, slots), Code::invalid, "ARGUMENT_RANGE",
                 "tokens 9..12 of sequence 0 are requested, its length is 11");
  expect_refused(sequences.slots(0, -1, 2, slots), Code::invalid, "ARGUMENT_RANGE",
                 "tokens -1..2 of sequence 0 are requested, its length is 11");
  expect_refused(sequences.slots(0, 3, 2, slots), Code::invalid, "ARGUMENT_RANGE",
                 "tokens 3..2 of sequence 0 are requested, its length is 11");
  expect_refused(sequences.slots(0, 9, 11, slots), Code::invalid, "ARGUMENT_SHAPE",
                 "room for 3 slots, tokens requested are 2");
}

class KvWindow : public KvSequencesTest {
 protected:
  KvWindow() : sequences(small_config(1)) {}
  void append(std::int64_t id, std::int32_t tokens) {
    KvSequencesTest::append(sequences, id, tokens);
  }
  const KvBlock& last_block(std::int64_t id) const {
    return KvSequencesTest::last_block(sequences, id);
  }

  KvSequences sequences;
};

TEST_F(KvWindow, KeepsTheSinkAndTheLastTokens) {
  append(0, 9);
  ASSERT_TRUE(sequences.enable_window(0, 10, 2).ok());

  append(0, 10);

  // Tokens 0, 1 and 11..18, of which 11 is in the third page.
  EXPECT_EQ(*sequences.length(0), 10);
  EXPECT_EQ(last_block(0).sink, 2);
  EXPECT_EQ(last_block(0).window_at, 7);
  EXPECT_THAT(last_block(0).pages, ElementsAre(0, 2, 1, 3));
}

TEST_F(KvWindow, StartsWhenTheSequenceOutgrowsIt) {
  append(0, 9);
  ASSERT_TRUE(sequences.enable_window(0, 10, 2).ok());

  append(0, 1);
  EXPECT_EQ(last_block(0).window_at, 0);
  append(0, 1);

  EXPECT_EQ(*sequences.length(0), 10);
  EXPECT_EQ(last_block(0).window_at, 3);
}

TEST_F(KvWindow, StartsAgainAfterAPopIntoTheSink) {
  append(0, 9);
  ASSERT_TRUE(sequences.enable_window(0, 10, 2).ok());
  append(0, 10);

  ASSERT_TRUE(sequences.pop(0, 8).ok());
  EXPECT_EQ(last_block(0).window_at, 0);
  EXPECT_EQ(last_block(0).pages.size(), 1u);
  append(0, 9);

  EXPECT_EQ(last_block(0).sink, 2);
  EXPECT_EQ(last_block(0).window_at, 3);
}

TEST_F(KvWindow, KeepsItsPlaceAfterAPopOutsideTheSink) {
  append(0, 9);
  ASSERT_TRUE(sequences.enable_window(0, 10, 2).ok());
  append(0, 10);

  ASSERT_TRUE(sequences.pop(0, 6).ok());

  EXPECT_EQ(last_block(0).window_at, 7);
  EXPECT_EQ(last_block(0).pages.size(), 3u);
}

TEST_F(KvWindow, AllowsForksInTheSinkOnly) {
  append(0, 9);
  ASSERT_TRUE(sequences.enable_window(0, 10, 5).ok());
  append(0, 10);

  expect_refused(sequences.fork(0, 1, 6), Code::invalid, "ARGUMENT_RANGE",
                 "position of a fork of sequence 0 is 6, range is 0..5");
  expect_refused(sequences.fork(0, 1, -1), Code::invalid, "ARGUMENT_RANGE",
                 "position of a fork of sequence 0 is 10, range is 0..5");
  ASSERT_TRUE(sequences.fork(0, 1, 5).ok());

  // A page of the sink is shared now.
  EXPECT_EQ(last_block(0).start, 4);
  EXPECT_EQ(last_block(0).sink, 1);
  EXPECT_EQ((*sequences.find(1))->window, 0);
}

TEST_F(KvWindow, AllowsForksInSharedTokens) {
  append(0, 9);
  ASSERT_TRUE(sequences.fork(0, 1, 8).ok());
  ASSERT_TRUE(sequences.enable_window(1, 12, 2).ok());
  append(1, 6);

  EXPECT_TRUE(sequences.fork(1, 2, 8).ok());
  expect_refused(sequences.fork(1, 3, 9), Code::invalid, "ARGUMENT_RANGE",
                 "position of a fork of sequence 1 is 9, range is 0..8");
}

TEST_F(KvWindow, RequiresACacheThatSupportsIt) {
  KvSequences plain{small_config()};
  ASSERT_TRUE(plain.add(0).ok());

  expect_refused(plain.enable_window(0, 8, 0), Code::invalid, "ARGUMENT",
                 "KV cache is created without sliding window, sequence 0 cannot have one");
}

TEST_F(KvWindow, IsEnabledOnce) {
  append(0, 1);
  ASSERT_TRUE(sequences.enable_window(0, 8, 2).ok());

  expect_refused(sequences.enable_window(0, 9, 2), Code::invalid, "KV_SEQUENCE",
                 "sequence 0 has a sliding window of 8 tokens already");
}

TEST_F(KvWindow, RefusesNumbersOutOfRange) {
  append(0, 1);

  expect_refused(sequences.enable_window(0, 0, 0), Code::invalid, "ARGUMENT_RANGE",
                 "sliding window of sequence 0 is 0, range is 1..2147483647");
  expect_refused(sequences.enable_window(0, 2147483648, 0), Code::invalid, "ARGUMENT_RANGE",
                 "sliding window of sequence 0 is 2147483648, range is 1..2147483647");
  expect_refused(sequences.enable_window(0, 8, 8), Code::invalid, "ARGUMENT_RANGE",
                 "sink of sequence 0 is 8, range is 0..7");
  expect_refused(sequences.enable_window(0, 8, -1), Code::invalid, "ARGUMENT_RANGE",
                 "sink of sequence 0 is -1, range is 0..7");
}

// Shared tokens cannot be removed, so they must leave room for others.
TEST_F(KvWindow, RefusesMoreSharedTokensThanItHas) {
  append(0, 8);
  ASSERT_TRUE(sequences.fork(0, 1, -1).ok());

  expect_refused(sequences.enable_window(1, 8, 2), Code::invalid, "ARGUMENT_RANGE",
                 "sequence 1 has 8 tokens in shared pages, limit is 7 for a sliding window of 8");
  EXPECT_TRUE(sequences.enable_window(1, 9, 2).ok());
}

TEST_F(KvSequencesTest, TakeNoMemoryForPagesThatWereNeverTaken) {
  CountedMemory memory;
  KvSequences sequences{*read_kv_config(std::vector<std::int64_t>{1, 1 << 30, 64, 1, 0}), &memory};
  EXPECT_LE(memory.bytes(), 1024u);

  append(sequences, 0, 64);

  EXPECT_EQ(sequences.free_page_count(), (1 << 30) + 1 - 64);
  EXPECT_LE(memory.bytes(), 4096u);
}

// Any number of them is added without a page.
TEST_F(KvSequencesTest, TakeMemoryThatIsCounted) {
  constexpr std::int64_t count = 1000;
  CountedMemory memory;
  KvSequences sequences{small_config(), &memory};

  for (std::int64_t id = 0; id < count; ++id) ASSERT_TRUE(sequences.add(id).ok());

  EXPECT_GE(memory.bytes(), count * (sizeof(KvSequence) + sizeof(KvBlock) + sizeof(std::int32_t)));
}

// A sequence after another has most of the pages.
TEST_F(KvSequencesTest, KeepLittleMemoryForPagesThatTheyHaveHad) {
  constexpr std::int32_t pages = 10'000;
  CountedMemory memory;
  KvSequences sequences{*read_kv_config(std::vector<std::int64_t>{1, pages, pages, 1, 0}), &memory};

  for (std::int64_t id = 0; id < 50; ++id) {
    append(sequences, id, pages - 100);
    ASSERT_TRUE(sequences.pop(id, pages - 101).ok());
  }

  EXPECT_LE(memory.bytes(), 3 * pages * sizeof(std::int32_t));
}

}  // namespace
}  // namespace gantry::relax::test
