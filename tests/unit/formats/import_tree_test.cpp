// SPDX-License-Identifier: Apache-2.0
#include "core/formats/import_tree.hpp"

#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ImportTree tree_of(const std::vector<std::uint64_t>& row, const std::vector<std::uint64_t>& child) {
  const Words blob = Words().u64s(row).u64s(child);
  ByteReader in(blob.bytes());
  return ImportTree::parse(in).value();
}

// Each row has one invalid word. Every row starts from the diamond 0 -> {1, 2} -> 3, the smallest
// tree with a shared child, and states the offset and the complete text of the error.
struct BadTree {
  std::string name;
  std::vector<std::uint64_t> row;
  std::vector<std::uint64_t> child;
  std::uint64_t offset;
  std::string message;
  std::string reason;
};

class InvalidImportTree : public ::testing::TestWithParam<BadTree> {};

TEST_P(InvalidImportTree, IsRejectedAtTheInvalidWord) {
  const BadTree& bad = GetParam();
  const Words blob = Words().u64s(bad.row).u64s(bad.child);
  ByteReader in(blob.bytes());

  const Result<ImportTree> tree = ImportTree::parse(in);

  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().code, Code::malformed);
  EXPECT_EQ(tree.error().offset, bad.offset);
  EXPECT_EQ(tree.error().message, bad.message);
  EXPECT_EQ(tree.error().reason, bad.reason);
}

INSTANTIATE_TEST_SUITE_P(
    Diamond, InvalidImportTree,
    ::testing::Values(
        BadTree{"NoRows", {}, {}, 0, "import tree has 0 row pointers, minimum is 2", "TREE_ROWS"},
        BadTree{
            "NoModules", {0}, {}, 0, "import tree has 1 row pointers, minimum is 2", "TREE_ROWS"},
        BadTree{"FirstRowNotZero",
                {1, 2, 3, 4, 4},
                {1, 2, 3, 3},
                8,
                "row pointer 0 is 1, expected 0",
                "TREE_ROWS"},
        BadTree{"RowFalls",
                {0, 2, 1, 4, 4},
                {1, 2, 3, 3},
                24,
                "row pointer 2 decreases from 2 to 1",
                "TREE_ROWS"},
        BadTree{"RowsPastEdges",
                {0, 2, 3, 4, 5},
                {1, 2, 3, 3},
                40,
                "last row pointer is 5, edge count is 4",
                "TREE_ROWS"},
        BadTree{"EdgesPastRows",
                {0, 2, 3, 3, 3},
                {1, 2, 3, 3},
                40,
                "last row pointer is 3, edge count is 4",
                "TREE_ROWS"},
        BadTree{"ChildPastModules",
                {0, 2, 3, 4, 4},
                {1, 2, 3, 4},
                80,
                "edge 3 names module 4, module count is 4",
                "TREE_EDGE"},
        BadTree{"ChildHuge",
                {0, 2, 3, 4, 4},
                {~0ull, 2, 3, 3},
                56,
                "edge 0 names module 18446744073709551615, module count is 4",
                "TREE_EDGE"},
        BadTree{"WayBack",
                {0, 2, 3, 4, 5},
                {1, 2, 3, 3, 0},
                0,
                "import tree has a loop at or above module 0",
                "TREE_LOOP"},
        BadTree{"OwnChild",
                {0, 2, 3, 4, 5},
                {1, 2, 3, 3, 3},
                0,
                "import tree has a loop at or above module 3",
                "TREE_LOOP"},
        BadTree{"LoopApart",
                {0, 0, 1, 2},
                {2, 1},
                0,
                "import tree has a loop at or above module 1",
                "TREE_LOOP"}),
    [](const auto& test) { return test.param.name; });

TEST(ImportTree, KeepsTheOrderOfChildrenAndMovesTheReaderToItsEnd) {
  const Words blob = Words().u64s({0, 2, 3, 4, 4}).u64s({2, 1, 3, 3}).u64(0xfeed);
  ByteReader in(blob.bytes());

  Result<ImportTree> tree = ImportTree::parse(in);

  ASSERT_TRUE(tree.ok()) << tree.error().message;
  EXPECT_EQ(tree.value().module_count(), 4u);
  EXPECT_THAT(tree.value().children_of(0), ElementsAre(2, 1));
  EXPECT_THAT(tree.value().children_of(3), IsEmpty());
  EXPECT_EQ(in.read_u64("next").value(), 0xfeedu);
}

// A count of 2^61 is rejected before memory is reserved for it.
TEST(ImportTree, RejectsACountLargerThanTheFile) {
  const Words blob = Words().u64(std::uint64_t{1} << 61).u64(0);
  ByteReader in(blob.bytes());

  const Result<ImportTree> tree = ImportTree::parse(in);

  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().offset, 0u);
  EXPECT_EQ(tree.error().message,
            "import tree row pointers: count 2305843009213693952, room for 1");
}

TEST(ImportTree, RejectsEveryTruncation) {
  const Words whole = Words().u64s({0, 2, 3, 4, 4}).u64s({1, 2, 3, 3});
  for (std::size_t size = 0; size < whole.bytes().size(); ++size) {
    ByteReader in(whole.bytes().first(size));
    EXPECT_FALSE(ImportTree::parse(in).ok()) << "accepted the first " << size << " bytes";
  }
}

TEST(ImportTree, HasOneModuleByDefault) {
  const ImportTree tree;

  EXPECT_EQ(tree.module_count(), 1u);
  EXPECT_THAT(tree.children_of(0), IsEmpty());
}

TEST(ImportTree, HasEveryModuleUnderTheRootOfAStar) {
  const ImportTree tree = ImportTree::star(3);

  EXPECT_EQ(tree.module_count(), 4u);
  EXPECT_THAT(tree.children_of(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(tree.children_of(3), IsEmpty());
}

TEST(ImportTree, HasOneModuleInAnEmptyStar) { EXPECT_EQ(ImportTree::star(0).module_count(), 1u); }

TEST(ImportTree, VisitsModulesDepthFirstAndOnce) {
  const ImportTree tree = tree_of({0, 2, 3, 4, 4}, {2, 1, 3, 3});

  EXPECT_THAT(tree.reachable_from(0), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(tree.reachable_from(1), ElementsAre(1, 3));
}

TEST(ImportTree, OrdersChildrenBeforeParents) {
  // 1 -> 0 -> 2
  const ImportTree tree = tree_of({0, 1, 2, 2}, {2, 0});

  EXPECT_THAT(tree.children_first(), ElementsAre(2, 0, 1));
}

TEST(ImportTree, SurvivesAChainOfTenThousandModules) {
  constexpr std::uint64_t modules = 10000;
  std::vector<std::uint64_t> row(modules + 1), child(modules - 1);
  for (std::uint64_t i = 0; i < modules; ++i) row[i] = i;
  row[modules] = modules - 1;
  std::iota(child.begin(), child.end(), std::uint64_t{1});

  const ImportTree tree = tree_of(row, child);

  EXPECT_EQ(tree.reachable_from(0).size(), modules);
  EXPECT_EQ(tree.reachable_from(0).back(), modules - 1);
  EXPECT_EQ(tree.children_first().front(), modules - 1);
  EXPECT_THAT(tree.warnings(), IsEmpty());
}

// 40 layers of two modules, each of which imports both of the next layer: 80 modules, 2^40 paths.
TEST(ImportTree, VisitsLayeredDiamondsOnce) {
  constexpr std::uint64_t layers = 40;
  std::vector<std::uint64_t> row{0}, child;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    for (int side = 0; side < 2; ++side) {
      if (layer + 1 < layers) child.insert(child.end(), {2 * layer + 2, 2 * layer + 3});
      row.push_back(child.size());
    }
  }

  const ImportTree tree = tree_of(row, child);

  // module 1 is not below the root
  EXPECT_EQ(tree.reachable_from(0).size(), 2 * layers - 1);
  EXPECT_EQ(tree.children_first().size(), 2 * layers);
}

struct OddTree {
  std::string name;
  std::vector<std::uint64_t> row;
  std::vector<std::uint64_t> child;
  std::vector<Message> warnings;
};

class UnusualImportTree : public ::testing::TestWithParam<OddTree> {};

TEST_P(UnusualImportTree, HasWarnings) {
  const ImportTree tree = tree_of(GetParam().row, GetParam().child);

  EXPECT_EQ(tree.warnings(), GetParam().warnings);
}

INSTANTIATE_TEST_SUITE_P(
    Each, UnusualImportTree,
    ::testing::Values(
        OddTree{"Nothing", {0, 2, 3, 4, 4}, {1, 2, 3, 3}, {}},
        OddTree{
            "Unsorted", {0, 2, 2, 2}, {2, 1}, {"children of module 0 are not in ascending order"}},
        OddTree{"Repeated", {0, 3, 3, 3}, {1, 2, 2}, {"module 0 imports a module twice"}},
        OddTree{
            "RepeatedApart",
            {0, 3, 3, 3},
            {1, 2, 1},
            {"children of module 0 are not in ascending order", "module 0 imports a module twice"}},
        OddTree{"ChildFirst", {0, 1, 1, 2}, {2, 1}, {"module 2 imports a module of lower index"}},
        OddTree{"Unreachable", {0, 1, 1, 1}, {1}, {"module 2 cannot be reached from module 0"}},
        OddTree{"SeveralUnreachable",
                {0, 0, 0, 0},
                {},
                {"module 1 and 1 more cannot be reached from module 0"}}),
    [](const auto& test) { return test.param.name; });

TEST(ImportTree, HasNoWarningsForTheOrderOfImports) {
  const ImportTree tree = tree_of({0, 3, 3, 4}, {2, 1, 2, 1});

  EXPECT_THAT(tree.warnings(ChildOrder::of_import),
              ElementsAre("module 2 imports a module of lower index"));
}

TEST(ImportTree, DetectsAChildBeforeItsParent) {
  EXPECT_TRUE(tree_of({0, 1, 1, 2}, {2, 1}).has_child_before_parent());
  EXPECT_FALSE(tree_of({0, 2, 2, 2}, {2, 1}).has_child_before_parent());
}

}  // namespace
}  // namespace gantry
