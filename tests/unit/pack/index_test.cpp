// SPDX-License-Identifier: Apache-2.0
#include "core/pack/index.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using Entries = std::vector<std::vector<std::size_t>>;
using Numbers = std::vector<std::uint64_t>;

// Worked by hand from the exporter's algorithm: a stack, so the last import is numbered first; host code is found on
// the way, kept back, and numbered as one entry after all that lies above it.
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

TEST_P(Index, IsTheExporters) {
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
        // Two host modules below a root: one entry; the second imports the first, which is no edge of an entry.
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

// The smallest acyclic graph that the exporter refuses: root R imports L (host) and K; L imports K. K gets 1 on the
// way to L, which is kept back and gets 2; then L's child comes before it.
TEST(Index, RefusesAChildThatWouldComeFirst) {
  const std::vector<IndexNode> modules = {{device, {1, 2}}, {host, {2}}, {device, {}}};

  const Result<ModuleIndex> index = index_modules(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::invalid);
  EXPECT_EQ(index.error().reason, "IMPORT_ORDER");
  EXPECT_EQ(
      index.error().message,
      "entry 2 (module 1) imports entry 1 (module 2), an import must come after its importer");
}

TEST(Index, RefusesACircle) {
  const std::vector<IndexNode> modules = {{device, {1}}, {device, {0}}};

  const Result<ModuleIndex> index = index_modules(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(
      index.error().message,
      "entry 1 (module 1) imports entry 0 (module 0), an import must come after its importer");
}

TEST(Index, RefusesAnImportOfNoModule) {
  const std::vector<IndexNode> modules = {{host, {1}}};

  const Result<ModuleIndex> index = index_modules(modules);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, Code::invalid);
  EXPECT_EQ(index.error().message, "module 0 imports module 1, module count is 1");
}

TEST(Index, RefusesNoModules) {
  const Result<ModuleIndex> index = index_modules({});

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().message, "module graph is empty, minimum is the root");
}

}  // namespace
}  // namespace gantry
