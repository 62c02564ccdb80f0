// SPDX-License-Identifier: Apache-2.0
#include "core/formats/entry_cursor.hpp"

#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Modules point into the bytes that they were read from, which are therefore never freed.
Result<Modules> read(const Words& content) {
  static std::deque<Words> kept;
  return test::read_entries(ByteReader(kept.emplace_back(content).bytes(), 8), ContainerLayout::two,
                            PayloadLayouts(), ArgumentTags::yes);
}

Words two_modules() { return Words().u64s({0, 1, 1}).u64s({1}); }

TEST(Layout2, ReadsTheWorkedExample) {
  const auto bytes = test::example_g5();

  const auto modules = read(Words().bytes(std::span(bytes).subspan(8)));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  ASSERT_EQ(modules->entries.size(), 2u);
  EXPECT_TRUE(modules->entries[0].is_library());
  EXPECT_EQ(modules->entries[1].type_key, "cuda");
  EXPECT_EQ(modules->entries[1].at, 0x58u);
  EXPECT_EQ(modules->entries[1].payload.size(), 0x99u);
  EXPECT_EQ(modules->entries[1].boundary, Boundary::exact);
  EXPECT_THAT(modules->tree->children_of(0), ElementsAre(1));
  EXPECT_THAT(modules->warnings, IsEmpty());
}

TEST(Layout2, ReadsOneModule) {
  const auto modules = read(Words().u64s({0, 0}).u64s({}).str("_lib"));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries.size(), 1u);
}

TEST(Layout2, ReadsAPayloadWithoutALayout) {
  const auto modules = read(two_modules().str("_lib").str("acme.npu").str("anything"));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[1].payload.size(), 8u);
}

TEST(Layout2, WarnsAboutAnEmptyPayload) {
  const auto modules = read(two_modules().str("_lib").str("cuda").str(""));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->warnings,
              ElementsAre("entry 1 \"cuda\" has an empty payload, which TVM's own loader rejects"));
}

// One warning for each of 30,000 empty payloads would take more memory than the file. Found by
// fuzzing.
TEST(Layout2, WarnsOnceAboutManyEmptyPayloads) {
  const auto modules = read(Words()
                                .u64s({0, 2, 2, 2})
                                .u64s({1, 2})
                                .str("_lib")
                                .str("cuda")
                                .str("")
                                .str("opencl")
                                .str(""));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->warnings,
              ElementsAre("entry 1 \"cuda\" and 1 more have an empty payload, which TVM's own "
                          "loader rejects"));
}

TEST(Layout2, WarnsAboutBytesAfterTheLastEntry) {
  const auto modules = read(Words().u64s({0, 0}).u64s({}).str("_lib").text("xyz"));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->warnings, ElementsAre("3 bytes follow the last entry"));
}

struct BadContainer {
  std::string name;
  Words content;
  std::uint64_t offset;
  std::string message;
  std::string reason;
};

class InvalidLayout2 : public ::testing::TestWithParam<BadContainer> {};

TEST_P(InvalidLayout2, IsRejectedAtTheInvalidField) {
  const auto modules = read(GetParam().content);

  ASSERT_FALSE(modules.ok());
  EXPECT_EQ(modules.error().code, Code::malformed);
  EXPECT_EQ(modules.error().offset, GetParam().offset);
  EXPECT_EQ(modules.error().message, GetParam().message);
  EXPECT_EQ(modules.error().reason, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Each, InvalidLayout2,
    ::testing::Values(
        BadContainer{"NoRows", Words().u64s({}).u64s({}), 8,
                     "import tree has 0 row pointers, minimum is 2", "TREE_ROWS"},
        BadContainer{"MoreModulesThanBytes", Words().u64s({0, 0, 0, 0}).u64s({}).str("_lib"), 56,
                     "entry count 3 of the import tree, room for 1", "BLOB_TRUNCATED"},
        BadContainer{"KeyEmpty", Words().u64s({0, 0}).u64s({}).str("").u64(0), 40,
                     "type key of entry 0 is empty: the entry before it does not end here",
                     "BLOB_KEY"},
        BadContainer{"KeyNotPrintable",
                     Words().u64s({0, 0}).u64s({}).str("\x7f"
                                                       "ELF"),
                     40, "type key of entry 0 is \"\\x7fELF\", expected printable ASCII",
                     "BLOB_KEY"},
        BadContainer{"PayloadShort", two_modules().str("_lib").str("cuda").u64(4).text("abc"), 80,
                     "payload: length is 4 bytes, room for 3 bytes\n"
                     "  while reading entry 1 \"cuda\"",
                     "BLOB_TRUNCATED"},
        BadContainer{"PayloadHuge", two_modules().str("_lib").str("cuda").u64(~0ull), 80,
                     "payload: length is 16.0 EiB (18446744073709551615 bytes), room for 0 bytes\n"
                     "  while reading entry 1 \"cuda\"",
                     "BLOB_TRUNCATED"},
        BadContainer{
            "EntryMissing", two_modules().str("_lib").text("12345678"), 68,
            "type key of entry 1: length is 3.5 EiB (4050765991979987505 bytes), room for 0 bytes",
            "BLOB_TRUNCATED"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
