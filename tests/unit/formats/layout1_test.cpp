// SPDX-License-Identifier: Apache-2.0
#include "core/formats/entry_cursor.hpp"

#include "core/formats/lost_payload.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const PayloadLayouts& layouts() {
  static const PayloadLayouts all = PayloadLayouts::built_in();
  return all;
}

// Modules point into the bytes that they were read from, which are therefore never freed.
Result<Modules> read(const Words& content) {
  static std::deque<Words> kept;
  return test::read_entries(ByteReader(kept.emplace_back(content).bytes(), 8), ContainerLayout::one,
                            layouts(), ArgumentTags::no);
}

std::vector<std::string_view> keys_of(const Modules& modules) {
  std::vector<std::string_view> keys;
  for (const Entry& entry : modules.entries) keys.push_back(entry.type_key);
  return keys;
}

Words cuda() { return Words().str("cuda").bytes(test::device_code("ptx", "//ptx").bytes()); }
Words lost() { return Words().str("acme.npu").text("0123456789"); }

TEST(Layout1, ReadsTheWorkedExample) {
  const auto bytes = test::example_g3();
  const auto content = std::span(bytes).subspan(8);

  const auto modules = read(Words().bytes(content));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("_lib", "cuda"));
  EXPECT_EQ(modules->entries[0].at, 0x1cu);
  EXPECT_THAT(modules->entries[0].payload, IsEmpty());
  EXPECT_EQ(modules->entries[1].at, 0x28u);
  EXPECT_EQ(modules->entries[1].payload.size(), 0xa4u - 0x28u);
  EXPECT_EQ(modules->entries[1].boundary, Boundary::laid_out);
  EXPECT_THAT(modules->tree->children_of(0), ElementsAre(1));
  EXPECT_THAT(modules->warnings, IsEmpty());
}

TEST(Layout1, ReadsEntriesWithoutATree) {
  const auto modules = read(Words().u64(1).bytes(cuda().bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("cuda"));
  EXPECT_FALSE(modules->tree.has_value());
}

TEST(Layout1, ReadsAnEmptyContainer) {
  const auto modules = read(Words().u64(0));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->entries, IsEmpty());
  EXPECT_THAT(modules->warnings, IsEmpty());
}

TEST(Layout1, WarnsAboutBytesAfterTheTree) {
  const auto modules =
      read(Words().u64(2).str("_lib").bytes(test::tree({0, 0}, {}).bytes()).text("xyz"));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->warnings, ElementsAre("3 bytes follow the last entry"));
}

// As v0.14 and later write an empty container.
TEST(Layout1, WarnsAboutBytesAfterACountOfZero) {
  const auto modules = read(Words().u64(0).bytes(cuda().bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->entries, IsEmpty());
  EXPECT_THAT(modules->warnings,
              ElementsAre(concat(cuda().size(), " bytes follow the last entry")));
}

// The two forms of a `mrvl_sim` payload, each followed by every entry that an exporter may write
// after it. The key `_lib` is a string, as is `code` of the newer form.
struct Simulated {
  std::string name;
  bool has_code;
  std::vector<std::string_view> keys;
};

void PrintTo(const Simulated& simulated, std::ostream* out) { *out << simulated.name; }

class SimulatorPayload : public ::testing::TestWithParam<Simulated> {};

TEST_P(SimulatorPayload, EndsBeforeTheNextEntry) {
  Words content = Words().u64(GetParam().keys.size() + 1);
  for (const std::string_view key : GetParam().keys) {
    content.str(key);
    if (key == "const_loader") content.u64(0).u64(0).u64(0).u64(0);
    if (key == "mrvl_sim") content.str("f").str("{}");
    if (key == "mrvl_sim" && GetParam().has_code) content.str("code");
  }
  std::vector<std::uint64_t> rows(GetParam().keys.size() + 1, 0);
  content.bytes(test::tree(rows, {}).bytes());

  const auto modules = read(content);

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(keys_of(*modules), GetParam().keys);
  for (const Entry& entry : modules->entries) {
    if (entry.type_key == "mrvl_sim") {
      EXPECT_EQ(entry.payload.size(), 8u + 1 + 8 + 2 + (GetParam().has_code ? 8 + 4 : 0));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, SimulatorPayload,
    ::testing::Values(Simulated{"OldBeforeTheTree", false, {"mrvl_sim"}},
                      Simulated{"OldBeforeLibrary", false, {"mrvl_sim", "_lib"}},
                      Simulated{"OldBehindConstants", false, {"const_loader", "mrvl_sim", "_lib"}},
                      Simulated{"OldTwice", false, {"mrvl_sim", "mrvl_sim", "_lib"}},
                      Simulated{"NewBeforeTheTree", true, {"mrvl_sim"}},
                      Simulated{"NewBeforeLibrary", true, {"mrvl_sim", "_lib"}},
                      Simulated{"NewBehindConstants", true, {"const_loader", "mrvl_sim", "_lib"}},
                      Simulated{"NewTwice", true, {"mrvl_sim", "mrvl_sim", "_lib"}}),
    [](const auto& test) { return test.param.name; });

struct BadContainer {
  std::string name;
  Words content;
  std::uint64_t offset;
  std::string message;
  std::string reason;
};

class InvalidLayout1 : public ::testing::TestWithParam<BadContainer> {};

TEST_P(InvalidLayout1, IsRejectedAtTheInvalidField) {
  const auto modules = read(GetParam().content);

  ASSERT_FALSE(modules.ok());
  EXPECT_EQ(modules.error().code, Code::malformed);
  EXPECT_EQ(modules.error().offset, GetParam().offset);
  EXPECT_EQ(modules.error().message, GetParam().message);
  EXPECT_EQ(modules.error().reason, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Each, InvalidLayout1,
    ::testing::Values(
        BadContainer{"CountHuge", Words().u64(1ull << 60).str("_lib"), 8,
                     "entry count: count 1152921504606846976, room for 1", "BLOB_TRUNCATED"},
        BadContainer{"KeyEmpty", Words().u64(2).str("_lib").str("").u64(0), 28,
                     "type key of entry 1 is empty: the entry before it does not end here",
                     "BLOB_KEY"},
        BadContainer{"KeyTooLong", Words().u64(1).str(std::string(257, 'k')), 16,
                     "type key of entry 1 has 257 bytes, maximum is 256", "BLOB_KEY"},
        BadContainer{"KeyNotPrintable", Words().u64(1).str("cu\nda"), 16,
                     "type key of entry 1 is \"cu\\nda\", expected printable ASCII", "BLOB_KEY"},
        BadContainer{"KeyNotAscii", Words().u64(1).str("\xc3\xa4"), 16,
                     "type key of entry 1 is \"\xc3\xa4\", expected printable ASCII", "BLOB_KEY"},
        BadContainer{"KeyCut", Words().u64(1).u64(99).text("_lib"), 16,
                     "type key of entry 1: length is 99 bytes, room for 4 bytes", "BLOB_TRUNCATED"},
        BadContainer{"KeyHuge", Words().u64(1).u64(1ull << 63).text("_lib"), 16,
                     "type key of entry 1: length is 8.0 EiB (9223372036854775808 bytes), room for "
                     "4 bytes",
                     "BLOB_TRUNCATED"},
        BadContainer{"TreeInTheMiddle",
                     Words().u64(3).str("_lib").bytes(test::tree({0, 0}, {}).bytes()).str("_lib"),
                     28, "import tree is entry 1 of 3, expected the last", "TREE_PLACE"},
        BadContainer{"TreeTwice",
                     Words()
                         .u64(3)
                         .str("_lib")
                         .bytes(test::tree({0, 0}, {}).bytes())
                         .bytes(test::tree({0, 0}, {}).bytes()),
                     28, "import tree is entry 1 of 3, expected the last", "TREE_PLACE"},
        BadContainer{"TreeMissing", Words().u64(2).str("_lib").bytes(cuda().bytes()), 8,
                     "container has a _lib entry but no import tree", "TREE_MISSING"},
        BadContainer{
            "TreeOfTooFew",
            Words().u64(3).str("_lib").bytes(cuda().bytes()).bytes(test::tree({0, 0}, {}).bytes()),
            8, "import tree has 1 modules, container has 2", "TREE_ROWS"},
        BadContainer{"TreeOfTooMany",
                     Words().u64(2).str("_lib").bytes(test::tree({0, 1, 1}, {1}).bytes()), 8,
                     "import tree has 2 modules, container has 1", "TREE_ROWS"},
        BadContainer{"TreeOfNothing", Words().u64(1).bytes(test::tree({0}, {}).bytes()), 36,
                     "import tree has 1 row pointers, minimum is 2\n"
                     "  while reading entry 0 \"_import_tree\" at 0x24",
                     "TREE_ROWS"},
        BadContainer{"TreeLoops", Words().u64(2).str("_lib").bytes(test::tree({0, 1}, {0}).bytes()),
                     48,
                     "import tree has a loop at or above module 0\n"
                     "  while reading entry 1 \"_import_tree\" at 0x30",
                     "TREE_LOOP"},
        BadContainer{"PayloadCut", Words().u64(1).str("cuda").str("ptx").u64(7), 39,
                     "kernels: count 7, room for 0\n  while reading entry 1 \"cuda\" at 0x1c",
                     "BLOB_TRUNCATED"},
        BadContainer{"LostWithLibraryWithoutTree", Words().u64(2).str("_lib").bytes(lost().bytes()),
                     8, "container has a _lib entry but no import tree", "TREE_MISSING"},
        BadContainer{
            "LostWhereTheTreeIs",
            Words().u64(2).str("_lib").bytes(lost().bytes()).bytes(test::tree({0, 0}, {}).bytes()),
            28, "entry 1 \"acme.npu\" is in the place of the import tree", "TREE_PLACE"}),
    [](const auto& test) { return test.param.name; });

// ---- payloads without a declared layout --------------------------------------------------------

TEST(LostPayload, HasAnExactLengthBeforeTheTree) {
  const auto modules = read(
      Words().u64(3).str("_lib").bytes(lost().bytes()).bytes(test::tree({0, 1, 1}, {1}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("_lib", "acme.npu"));
  EXPECT_EQ(modules->entries[1].payload.size(), 10u);
  EXPECT_EQ(modules->entries[1].boundary, Boundary::recovered);
  EXPECT_THAT(modules->tree->children_of(0), ElementsAre(1));
  EXPECT_THAT(modules->warnings,
              ElementsAre("entry 1 \"acme.npu\" has no declared payload layout: its 10 bytes end "
                          "at the next known offset"));
}

TEST(LostPayload, HasAGuessedLengthBeforeKnownEntries) {
  const auto modules = read(Words()
                                .u64(4)
                                .bytes(lost().bytes())
                                .bytes(cuda().bytes())
                                .str("_lib")
                                .bytes(test::tree({0, 2, 2, 2}, {1, 2}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("acme.npu", "cuda", "_lib"));
  EXPECT_EQ(modules->entries[0].payload.size(), 10u);
  EXPECT_EQ(modules->entries[0].boundary, Boundary::guessed);
  EXPECT_EQ(modules->entries[1].payload.size(), cuda().size() - 12);
  EXPECT_THAT(
      modules->warnings,
      ElementsAre("entry 0 \"acme.npu\" has no declared payload layout: it probably has 10 bytes, "
                  "the only size after which the 2 entries that follow it can begin"));
}

// The payload contains bytes that look like the entry after it: a key and a length that includes
// the real entry.
TEST(LostPayload, HasNoKnownLengthIfItMayContainTheNextEntry) {
  const Words inner = Words().text("0123").str("examplejson").u64(12);
  const Words content = Words()
                            .u64(3)
                            .str("acme.npu")
                            .bytes(inner.bytes())
                            .str("_lib")
                            .bytes(test::tree({0, 1, 1}, {1}).bytes());

  const auto modules = read(content);

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("acme.npu", ""));
  EXPECT_EQ(modules->entries[0].payload.size(), inner.size() + 12);
  EXPECT_EQ(modules->entries[0].boundary, Boundary::unknown);
  EXPECT_EQ(modules->entries[1].boundary, Boundary::unknown);
  EXPECT_THAT(
      modules->warnings,
      ElementsAre(
          "entry 0 \"acme.npu\" has no declared payload layout: the 1 entry that follow it can "
          "begin after 4 bytes or after 31, so 43 bytes belong to it and to 1 more entry and "
          "cannot be divided"));
}

// One offset matches, but the search reaches its limit before all offsets are tried.
TEST(LostPayload, HasNoKnownLengthIfTheSearchIsIncomplete) {
  Words content = Words().u64(3).str("acme.npu").str("examplejson");
  Words keys;
  for (int i = 0; i < 300; ++i) keys.str("_lib");
  content.u64(keys.size()).bytes(keys.bytes()).bytes(test::tree({0, 1, 1}, {1}).bytes());

  const auto modules = read(content);

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[0].boundary, Boundary::unknown);
}

TEST(Boundary, HasAName) {
  EXPECT_EQ(name_of(Boundary::exact), "exact");
  EXPECT_EQ(name_of(Boundary::laid_out), "laid-out");
  EXPECT_EQ(name_of(Boundary::recovered), "recovered");
  EXPECT_EQ(name_of(Boundary::guessed), "guessed");
  EXPECT_EQ(name_of(Boundary::unknown), "unknown");
}

// The payload contains bytes that look like the next entry but do not extend exactly to the tree.
TEST(LostPayload, IsNotEndedByAKeyInsideIt) {
  const Words tricky = Words().str("acme.npu").str("_lib").str("cuda").text("0123");

  const auto modules = read(
      Words().u64(3).bytes(tricky.bytes()).str("_lib").bytes(test::tree({0, 1, 1}, {1}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[0].payload.size(), 12u + 12 + 4);
  EXPECT_EQ(modules->entries[0].boundary, Boundary::guessed);
}

TEST(LostPayload, HasNoKnownLengthBeforeAnotherLostPayload) {
  const auto modules = read(Words()
                                .u64(4)
                                .str("_lib")
                                .bytes(lost().bytes())
                                .bytes(lost().bytes())
                                .bytes(test::tree({0, 2, 2, 2}, {1, 2}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("_lib", "acme.npu", ""));
  EXPECT_EQ(modules->entries[1].boundary, Boundary::unknown);
  EXPECT_EQ(modules->entries[1].payload.size(), 10u + lost().size());
  EXPECT_EQ(modules->entries[2].boundary, Boundary::unknown);
  EXPECT_THAT(modules->entries[2].payload, IsEmpty());
  EXPECT_THAT(modules->tree->children_of(0), ElementsAre(1, 2));
  EXPECT_THAT(
      modules->warnings,
      ElementsAre("entry 1 \"acme.npu\" has no declared payload layout: 36 bytes belong to it and "
                  "to 1 more entry and cannot be divided"));
}

TEST(LostPayload, HasAnExactLengthAtTheEndOfAContainerWithoutATree) {
  const auto modules = read(Words().u64(2).bytes(cuda().bytes()).bytes(lost().bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("cuda", "acme.npu"));
  EXPECT_EQ(modules->entries[1].payload.size(), 10u);
  EXPECT_EQ(modules->entries[1].boundary, Boundary::recovered);
}

TEST(LostPayload, MayBeEmpty) {
  const auto modules =
      read(Words().u64(3).str("_lib").str("acme.npu").bytes(test::tree({0, 1, 1}, {1}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(modules->entries[1].payload, IsEmpty());
  EXPECT_EQ(modules->entries[1].boundary, Boundary::recovered);
}

// Bytes that look like a tree with another number of modules are part of the payload.
TEST(LostPayload, IsNotEndedByATreeOfAnotherContainer) {
  const Words tricky = Words().str("acme.npu").bytes(test::tree({0, 0}, {}).bytes());

  const auto modules = read(
      Words().u64(3).str("_lib").bytes(tricky.bytes()).bytes(test::tree({0, 1, 1}, {1}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[1].payload.size(), tricky.size() - 16);
}

// A tree must extend to the last byte; otherwise it could be a payload that looks like a tree.
TEST(LostPayload, HasNoTreeIfBytesFollowIt) {
  const auto modules = read(Words()
                                .u64(3)
                                .str("_lib")
                                .bytes(lost().bytes())
                                .bytes(test::tree({0, 1, 1}, {1}).bytes())
                                .text("xyz"));

  ASSERT_FALSE(modules.ok());
  EXPECT_EQ(modules.error().message, "container has a _lib entry but no import tree");
}

TEST(LostPayload, HasNoTreeWithAnotherModuleCount) {
  const auto modules =
      read(Words().u64(3).str("_lib").bytes(lost().bytes()).bytes(test::tree({0, 0}, {}).bytes()));

  ASSERT_FALSE(modules.ok());
  EXPECT_EQ(modules.error().message, "container has a _lib entry but no import tree");
}

TEST(LostPayload, IsSearchedForALimitedTimeIfItConsistsOfKeys) {
  Words keys = Words().str("acme.npu");
  for (int i = 0; i < 20000; ++i) keys.str("_lib");

  const auto modules = read(
      Words().u64(3).bytes(keys.bytes()).str("acme.npu").bytes(test::tree({0, 1, 1}, {1}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[0].boundary, Boundary::unknown);
}

TEST(LostPayload, IsReadIfItsLayoutIsDeclared) {
  PayloadLayouts declared = PayloadLayouts::built_in();
  declared.add("acme.npu", *parse_payload_layout(std::vector<std::string>{"u64", "u16"}));
  const Words content = Words()
                            .u64(4)
                            .str("_lib")
                            .bytes(lost().bytes())
                            .bytes(lost().bytes())
                            .bytes(test::tree({0, 2, 2, 2}, {1, 2}).bytes());

  const auto modules = test::read_entries(ByteReader(content.bytes()), ContainerLayout::one,
                                          declared, ArgumentTags::unknown);

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_THAT(keys_of(*modules), ElementsAre("_lib", "acme.npu", "acme.npu"));
  EXPECT_EQ(modules->entries[2].payload.size(), 10u);
  EXPECT_THAT(modules->warnings, IsEmpty());
}

TEST(LostPayload, EndsBeforeAnEmptyEntryAtTheEndOfTheEntries) {
  const auto modules = read(Words()
                                .u64(3)
                                .str("acme.npu")
                                .text("0123")
                                .str("_lib")
                                .bytes(test::tree({0, 1, 1}, {1}).bytes()));

  ASSERT_TRUE(modules.ok()) << modules.error().message;
  EXPECT_EQ(modules->entries[0].boundary, Boundary::guessed);
  EXPECT_EQ(modules->entries[0].payload.size(), 4u);
}

// Each key is one trial, of which the last one alone matches.
TEST(LostPayload, HasAGuessedLengthBelowTheLimitOfTheSearch) {
  for (const int keys : {255, 256}) {
    Words content = Words().u64(3).str("acme.npu");
    for (int i = 0; i < keys; ++i) content.str("_lib");
    content.bytes(test::tree({0, 1, 1}, {1}).bytes());

    const auto modules = read(content);

    ASSERT_TRUE(modules.ok()) << modules.error().message;
    EXPECT_EQ(modules->entries[0].boundary, keys == 255 ? Boundary::guessed : Boundary::unknown);
  }
}

Words tree_of_one() { return Words().u64s({0, 0}).u64s({}); }

TEST(FindTree, FindsATreeThatEndsAtTheEnd) {
  const Words content = Words().text("any").str("_import_tree").bytes(tree_of_one().bytes());

  const auto tree = find_tree(ByteReader(content.bytes(), 8), 1);

  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->at, 8u + 3);
}

TEST(FindTree, IgnoresOtherKeysAndInvalidTrees) {
  const Words other_key = Words().str("_import_tre_").bytes(tree_of_one().bytes());
  const Words other_size = Words().u64(13).text("_import_tree").bytes(tree_of_one().bytes());
  const Words invalid = Words().str("_import_tree").u64s({0, 1}).u64s({7});
  for (const Words* content : {&other_key, &other_size, &invalid}) {
    EXPECT_FALSE(find_tree(ByteReader(content->bytes(), 8), 1).has_value());
  }
}

}  // namespace
}  // namespace gantry
