// SPDX-License-Identifier: Apache-2.0
#include "core/writing/index.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using Entries = std::vector<std::vector<std::size_t>>;
using Numbers = std::vector<std::uint64_t>;

// Expected results of the exporter's algorithm, computed by hand. It uses a stack, so the last
// import is numbered first; all CPU code is numbered as one entry after the modules above it.
struct Worked {
  std::string name;
  std::vector<IndexNode> modules;
  Entries entries;
  Numbers row_ptr;
  Numbers child;
};

constexpr std::string_view host;
constexpr std::string_view device = "cuda";

class Index : public ::testing::TestWithParam<Worked> {};

TEST_P(Index, EqualsTheExporters) {
  const Worked& worked = GetParam();

  const Result<ModuleIndex> index = index_merged(worked.modules);

  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(index->entries, worked.entries);
  EXPECT_EQ(index->row_ptr, worked.row_ptr);
  EXPECT_EQ(index->child, worked.child);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, Index,
    ::testing::Values(
        Worked{"HostAlone", {{host, {}}}, {{0}}, {0, 0}, {}},
        Worked{"HostAndOneDevice", {{host, {1}}, {device, {}}}, {{0}, {1}}, {0, 1, 1}, {1}},
        Worked{"LastImportFirst",
               {{host, {1, 2}}, {device, {}}, {device, {}}},
               {{0}, {2}, {1}},
               {0, 2, 2, 2},
               {1, 2}},
        Worked{"GraphHostDevice",
               {{device, {1}}, {host, {2}}, {device, {}}},
               {{0}, {1}, {2}},
               {0, 1, 2, 2},
               {1, 2}},
        // Two host modules become one entry; the import of one by the other is not an edge.
        Worked{"CpuCodeMerges",
               {{device, {1, 2}}, {host, {3}}, {host, {3, 1}}, {device, {}}},
               {{0}, {1, 2}, {3}},
               {0, 1, 2, 2},
               {1, 2}},
        Worked{"ImportsRepeat",
               {{host, {1, 1, 2, 1}}, {device, {}}, {device, {}}},
               {{0}, {2}, {1}},
               {0, 2, 2, 2},
               {1, 2}},
        Worked{"NoCpuCode", {{device, {1}}, {device, {}}}, {{0}, {1}}, {0, 1, 1}, {1}},
        Worked{"NotReachable", {{host, {}}, {device, {}}}, {{0}}, {0, 0}, {}}),
    [](const auto& test) { return test.param.name; });

// The smallest acyclic graph that the exporter rejects: root R imports L (host) and K; L imports K.
// K is numbered 1, then L is numbered 2, so that L's child precedes it.
TEST(Index, RejectsAChildBeforeItsParent) {
  const std::vector<IndexNode> modules = {{device, {1, 2}}, {host, {2}}, {device, {}}};

  const Result<ModuleIndex> index = index_merged(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::invalid);
  EXPECT_EQ(index.error().reason, "IMPORT_ORDER");
  EXPECT_EQ(index.error().message,
            "module 1 \"_lib\" is entry 2 and imports module 2 \"cuda\", entry 1; an import must "
            "come after its importer, so the modules cannot be merged without creating a cycle; "
            "generation G2 can contain them");
  EXPECT_TRUE(index_separate(modules).ok());
}

// Of merged CPU code, the module with the import is named.
TEST(Index, NamesTheHostModuleThatImportsAnEarlierEntry) {
  const std::vector<IndexNode> modules = {
      {device, {1, 2, 3}}, {host, {}}, {host, {3}}, {"vulkan", {}}};

  const Result<ModuleIndex> index = index_merged(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_THAT(std::string(index.error().message),
              ::testing::StartsWith(
                  "module 2 \"_lib\" is entry 2 and imports module 3 \"vulkan\", entry 1;"));
}

// Expected results of the exporter of G2, computed by hand: every module is an entry, and children
// keep their import order and their repetitions.
class SeparateIndex : public ::testing::TestWithParam<Worked> {};

TEST_P(SeparateIndex, EqualsTheExporters) {
  const Worked& worked = GetParam();

  const Result<ModuleIndex> index = index_separate(worked.modules);

  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(index->entries, worked.entries);
  EXPECT_EQ(index->row_ptr, worked.row_ptr);
  EXPECT_EQ(index->child, worked.child);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, SeparateIndex,
    ::testing::Values(Worked{"HostAlone", {{host, {}}}, {{0}}, {0, 0}, {}},
                      Worked{"CpuCodeStaysApart",
                             {{device, {1, 2}}, {host, {3}}, {host, {3, 1}}, {device, {}}},
                             {{0}, {2}, {3}, {1}},
                             {0, 2, 4, 4, 5},
                             {3, 1, 2, 3, 2}},
                      Worked{"ImportsKeepOrderAndRepeat",
                             {{host, {1, 1, 2, 1}}, {device, {}}, {device, {}}},
                             {{0}, {2}, {1}},
                             {0, 4, 4, 4},
                             {2, 2, 1, 2}},
                      Worked{"NotReachable", {{host, {}}, {device, {}}}, {{0}}, {0, 0}, {}}),
    [](const auto& test) { return test.param.name; });

struct Cycle {
  std::string name;
  std::vector<IndexNode> modules;
  std::string message;
};
class IndexRejectsTheCycle : public ::testing::TestWithParam<Cycle> {};

TEST_P(IndexRejectsTheCycle, InBothForms) {
  for (const auto& index : {index_merged(GetParam().modules), index_separate(GetParam().modules)}) {
    ASSERT_FALSE(index.ok());
    EXPECT_EQ(index.error().code, Code::invalid);
    EXPECT_EQ(index.error().reason, "IMPORT_CYCLE");
    EXPECT_EQ(index.error().message, GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, IndexRejectsTheCycle,
    ::testing::Values(
        Cycle{"OfTwo",
              {{"graph", {1}}, {"cuda", {0}}},
              "module 1 \"cuda\" imports module 0 \"graph\", which imports it, directly or "
              "through others"},
        Cycle{"OfOne", {{"cuda", {0}}}, "module 0 \"cuda\" imports itself"},
        // Merged CPU code would hide this one.
        Cycle{"OfCpuCode",
              {{"graph", {1}}, {host, {2}}, {host, {1}}},
              "module 2 \"_lib\" imports module 1 \"_lib\", which imports it, directly or through "
              "others"},
        Cycle{"BesideADiamond",
              {{"graph", {1, 2}}, {"a", {3}}, {"b", {3}}, {"c", {4}}, {"d", {2}}},
              "module 2 \"b\" imports module 3 \"c\", which imports it, directly or through "
              "others"}),
    [](const auto& test) { return test.param.name; });

TEST(Index, RejectsAnImportOutOfRange) {
  const std::vector<IndexNode> modules = {{host, {1}}};

  const Result<ModuleIndex> index = index_merged(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::invalid);
  EXPECT_EQ(index.error().message, "module 0 imports module 1, module count is 1");
}

TEST(Index, RejectsAnEmptyGraph) {
  const Result<ModuleIndex> index = index_merged({});

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().message, "module graph is empty, minimum is the root");
}

}  // namespace
}  // namespace gantry
