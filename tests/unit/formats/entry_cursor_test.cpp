// SPDX-License-Identifier: Apache-2.0
//
// Entries in order, with payload lengths that the caller supplies.
#include "core/formats/entry_cursor.hpp"

#include "core/formats/container.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tags = ArgumentTags;

// Readers point into the bytes that they read, which are therefore never freed.
ByteReader kept(const Words& content) {
  static std::deque<Words> all;
  return ByteReader(all.emplace_back(content).bytes(), 8);
}

const PayloadLayouts& built_in() {
  static const PayloadLayouts all = PayloadLayouts::built_in();
  return all;
}

// "_lib" and two payloads of 10 bytes each, followed by other content.
Words two_lost(std::uint64_t count, const Words& behind) {
  return Words()
      .u64(count)
      .str("_lib")
      .str("acme.npu")
      .text("0123456789")
      .str("acme.dsp")
      .text("abcdefghij")
      .bytes(behind.bytes());
}
Words tree_of_three() { return test::tree({0, 2, 2, 2}, {1, 2}); }

TEST(EntryCursor, StopsAtEveryPayloadWithoutALayout) {
  const Words content = two_lost(4, tree_of_three());
  EntryCursor cursor(kept(content), ContainerLayout::one, built_in(), Tags::no);

  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.module_index(), 1u);
  EXPECT_EQ(cursor.entry().type_key, "acme.npu");
  EXPECT_EQ(cursor.entry().at, 8u + 8 + 12 + 16);
  EXPECT_EQ(cursor.entry().payload.size(), content.size() - (8 + 12 + 16));
  ASSERT_TRUE(cursor.accept(10).ok());
  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.module_index(), 2u);
  EXPECT_EQ(cursor.entry().type_key, "acme.dsp");
  ASSERT_TRUE(cursor.accept(10).ok());
  EXPECT_FALSE(cursor.next().value());

  const auto modules = std::move(cursor).finish();
  ASSERT_TRUE(modules.ok()) << modules.error().message;
  ASSERT_EQ(modules->entries.size(), 3u);
  EXPECT_EQ(modules->entries[2].payload.size(), 10u);
  EXPECT_EQ(modules->entries[2].boundary, Boundary::laid_out);
  EXPECT_EQ(modules->library_count, 1u);
  EXPECT_THAT(modules->tree->children_of(0), ElementsAre(1, 2));
}

TEST(EntryCursor, DoesNotStopInLayoutTwo) {
  EntryCursor cursor(kept(Words().u64s({0, 1, 1}).u64s({1}).str("_lib").str("acme.npu").str("any")),
                     ContainerLayout::two, built_in(), Tags::yes);

  EXPECT_FALSE(cursor.next().value());

  const auto modules = std::move(cursor).finish();
  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[1].payload.size(), 3u);
}

TEST(EntryCursor, RejectsALengthThatExceedsTheContainer) {
  const Words content = Words().u64(1).str("acme.npu").u64(0);
  EntryCursor whole(kept(content), ContainerLayout::one, built_in(), Tags::no);
  EntryCursor longer(kept(content), ContainerLayout::one, built_in(), Tags::no);
  ASSERT_TRUE(whole.next().value());
  ASSERT_TRUE(longer.next().value());

  EXPECT_TRUE(whole.accept(8).ok());
  const Status refused = longer.accept(9);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::malformed);
  EXPECT_EQ(refused.error().offset, 8u + 8 + 16);
  EXPECT_EQ(refused.error().reason, "BLOB_CONSUMED");
  EXPECT_EQ(refused.error().message, "loader of \"acme.npu\" consumed 9 bytes, room for 8 bytes");
}

TEST(EntryCursor, MeasuresPayloadsByTheirLayout) {
  const Words kernel = test::device_code("ptx", "//ptx");
  EntryCursor cursor(kept(Words()
                              .u64(4)
                              .str("_lib")
                              .str("cuda")
                              .bytes(kernel.bytes())
                              .str("acme.npu")
                              .text("0123456789")
                              .bytes(tree_of_three().bytes())),
                     ContainerLayout::one, built_in(), Tags::no);

  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.entry().type_key, "acme.npu");
  EXPECT_EQ(cursor.entry().payload.size(), 10 + tree_of_three().size());
  EXPECT_EQ(cursor.module_index(), 2u);
  ASSERT_TRUE(cursor.accept(10).ok());
  EXPECT_FALSE(cursor.next().value());

  const auto modules = std::move(cursor).finish();
  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->warnings, ::testing::IsEmpty());
}

// Without a tree, the library is module 0.
TEST(EntryCursor, CountsModulesAfterTheRootOfAContainerWithoutATree) {
  EntryCursor cursor(kept(Words().u64(2).str("acme.npu").u64(1).str("acme.npu").u64(2)),
                     ContainerLayout::one, built_in(), Tags::no);

  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.module_index(), 1u);
  ASSERT_TRUE(cursor.accept(8).ok());
  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.module_index(), 2u);
}

TEST(EntryCursor, RecoversPayloadsThatTheCallerDoesNotAccept) {
  EntryCursor cursor(kept(two_lost(4, tree_of_three())), ContainerLayout::one, built_in(),
                     Tags::no);
  ASSERT_TRUE(cursor.next().value());
  ASSERT_TRUE(cursor.accept(10).ok());
  ASSERT_TRUE(cursor.next().value());

  const auto modules = std::move(cursor).finish();

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[1].boundary, Boundary::laid_out);
  EXPECT_EQ(modules->entries[2].boundary, Boundary::recovered);
  EXPECT_EQ(modules->entries[2].payload.size(), 10u);
}

// The error precedes the stop, at which the caller may run plugin code.
TEST(EntryCursor, RejectsAMissingTreeBeforeItStops) {
  EntryCursor cursor(kept(two_lost(3, Words())), ContainerLayout::one, built_in(), Tags::no);

  const auto found = cursor.next();

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().reason, "TREE_MISSING");
}

// Rows 1 and 65 of the tree look like the key "A", so that the payload can end before them.
TEST(EntryCursor, LosesATreeThatTheCallerAcceptsAsPayload) {
  std::vector<std::uint64_t> children(65, 2);
  children[0] = 1;
  const Words lost = Words().text("0123456789").str("acme.dsp").str("acme.dsp");
  EntryCursor cursor(kept(Words()
                              .u64(4)
                              .str("acme.npu")
                              .bytes(lost.bytes())
                              .bytes(test::tree({0, 1, 65, 65}, children).bytes())),
                     ContainerLayout::one, built_in(), Tags::no);
  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.module_index(), 0u);
  const std::uint64_t key_and_two_words = 8 + 12 + 8 + 8;
  ASSERT_TRUE(cursor.accept(lost.size() + key_and_two_words).ok());
  ASSERT_TRUE(cursor.next().value());
  EXPECT_EQ(cursor.entry().type_key, "A");
  EXPECT_EQ(cursor.module_index(), 2u);

  const auto modules = std::move(cursor).finish();

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_FALSE(modules->tree.has_value());
  EXPECT_EQ(modules->entries.size(), 4u);
}

TEST(ContainerReader, ReturnsFactsAndNamesTheContainerInErrors) {
  const Words container = test::contained(two_lost(4, tree_of_three()));
  ContainerLocation location;
  const std::vector<CpuSymbol> symbols{test::defined("__tvm_dev_mblob")};
  location.symbols = choose_symbols(symbols);
  location.blob_symbol = "__tvm_dev_mblob";
  location.room = container.bytes();
  ContainerReader reader = ContainerReader::open(location, built_in()).value();

  EXPECT_EQ(reader.container().facts.generation, Generation::g3);
  EXPECT_EQ(reader.container().facts.argument_tags, Tags::no);
  ASSERT_TRUE(reader.next().value());
  EXPECT_EQ(reader.entry().at, 8u + 8 + 12 + 16);
  const Status refused = reader.accept(1000);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("in the container at symbol __tvm_dev_mblob"));
}

TEST(ContainerReader, ReadsAFileWithoutAContainerAsOneModule) {
  ContainerReader reader = ContainerReader::open(ContainerLocation(), built_in()).value();

  EXPECT_FALSE(reader.next().value());

  const auto container = std::move(reader).finish();
  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->facts.generation, Generation::none);
  ASSERT_EQ(container->entries.size(), 1u);
  EXPECT_TRUE(container->entries[0].is_library());
}

TEST(EntryCursor, NumbersModulesByTheTreeBeforeItReadsThePayload) {
  const Words content =
      Words().u64(2).str("cuda").str("ptx").u64(UINT64_MAX).bytes(test::tree({0, 0}, {}).bytes());
  EntryCursor cursor(kept(content), ContainerLayout::one, built_in(), Tags::no);

  const auto next = cursor.next();

  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().code, Code::malformed);
  EXPECT_THAT(next.error().message, HasSubstr("while reading entry 0 \"cuda\""));
}

}  // namespace
}  // namespace gantry
