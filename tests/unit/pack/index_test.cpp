// SPDX-License-Identifier: Apache-2.0
#include "core/pack/index.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using Entries = std::vector<std::vector<std::size_t>>;
using Numbers = std::vector<std::uint64_t>;

// Expected results of the exporter's algorithm, computed by hand. It uses a stack, so the last
// import is numbered first; all host code is numbered as one entry after the modules above it.
struct Worked {
  std::string name;
  std::vector<IndexNode> modules;
  Entries entries;
  std::optional<std::size_t> library;
  Numbers row_ptr;
  Numbers child;
};

constexpr bool host = true;
constexpr bool device = false;

class Index : public ::testing::TestWithParam<Worked> {};

TEST_P(Index, EqualsTheExporters) {
  const Worked& worked = GetParam();

  const Result<ModuleIndex> index = index_modules(worked.modules);

  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(index->entries, worked.entries);
  EXPECT_EQ(index->library, worked.library);
  EXPECT_EQ(index->row_ptr, worked.row_ptr);
  EXPECT_EQ(index->child, worked.child);
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, Index,
    ::testing::Values(
        Worked{"HostAlone", {{host, {}}}, {{0}}, 0, {0, 0}, {}},
        Worked{"HostAndOneDevice", {{host, {1}}, {device, {}}}, {{0}, {1}}, 0, {0, 1, 1}, {1}},
        Worked{"LastImportFirst",
               {{host, {1, 2}}, {device, {}}, {device, {}}},
               {{0}, {2}, {1}},
               0,
               {0, 2, 2, 2},
               {1, 2}},
        Worked{"GraphHostDevice",
               {{device, {1}}, {host, {2}}, {device, {}}},
               {{0}, {1}, {2}},
               1,
               {0, 1, 2, 2},
               {1, 2}},
        // Two host modules become one entry; the import of one by the other is not an edge.
        Worked{"HostCodeMerges",
               {{device, {1, 2}}, {host, {3}}, {host, {3, 1}}, {device, {}}},
               {{0}, {1, 2}, {3}},
               1,
               {0, 1, 2, 2},
               {1, 2}},
        Worked{"ImportsRepeat",
               {{host, {1, 1, 2, 1}}, {device, {}}, {device, {}}},
               {{0}, {2}, {1}},
               0,
               {0, 2, 2, 2},
               {1, 2}},
        Worked{"NoHostCode", {{device, {1}}, {device, {}}}, {{0}, {1}}, {}, {0, 1, 1}, {1}},
        Worked{"NotReachable", {{host, {}}, {device, {}}}, {{0}}, 0, {0, 0}, {}}),
    [](const auto& test) { return test.param.name; });

// The smallest acyclic graph that the exporter rejects: root R imports L (host) and K; L imports K.
// K is numbered 1, then L is numbered 2, so that L's child precedes it.
TEST(Index, RejectsAChildBeforeItsParent) {
  const std::vector<IndexNode> modules = {{device, {1, 2}}, {host, {2}}, {device, {}}};

  const Result<ModuleIndex> index = index_modules(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::invalid);
  EXPECT_EQ(index.error().reason, "IMPORT_ORDER");
  EXPECT_EQ(
      index.error().message,
      "entry 2 (module 1) imports entry 1 (module 2), an import must come after its importer");
}

TEST(Index, RejectsACycle) {
  const std::vector<IndexNode> modules = {{device, {1}}, {device, {0}}};

  const Result<ModuleIndex> index = index_modules(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(
      index.error().message,
      "entry 1 (module 1) imports entry 0 (module 0), an import must come after its importer");
}

TEST(Index, RejectsAnImportOutOfRange) {
  const std::vector<IndexNode> modules = {{host, {1}}};

  const Result<ModuleIndex> index = index_modules(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::invalid);
  EXPECT_EQ(index.error().message, "module 0 imports module 1, module count is 1");
}

TEST(Index, RejectsAnEmptyGraph) {
  const Result<ModuleIndex> index = index_modules({});

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().message, "module graph is empty, minimum is the root");
}

}  // namespace
}  // namespace gantry
