// SPDX-License-Identifier: Apache-2.0
//
// What the built plugins export and import, read with the core's own ELF reader.
#include "core/elf/elf_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/files.hpp"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Plugins of this build, given by CMake as a list with a comma behind each.
std::vector<fs::path> built_plugins() {
  std::vector<fs::path> all;
  std::string_view list = GANTRY_PLUGIN_FILES;
  for (std::size_t comma; (comma = list.find(',')) != std::string_view::npos;
       list.remove_prefix(comma + 1)) {
    all.emplace_back(list.substr(0, comma));
  }
  return all;
}

ElfFile opened(const fs::path& path) {
  return std::move(ElfFile::parse(std::move(MappedFile::open(path)).value())).value();
}

std::vector<std::string> exports_of(const ElfFile& file) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : file.symbols()) {
    if (symbol.exported()) names.emplace_back(symbol.name);
  }
  return names;
}

// A plugin that carries names of the core, or of ours at all, among what it needs from others.
std::vector<std::string> imports_of_ours(const ElfFile& file) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : file.symbols()) {
    if (!symbol.defined() && symbol.name.find("gantry") != std::string_view::npos)
      names.emplace_back(symbol.name);
  }
  return names;
}

TEST(Plugins, ExportTheEntryAndNothingElse) {
  for (const fs::path& path : built_plugins()) {
    EXPECT_THAT(exports_of(opened(path)), ElementsAre("gantry_plugin_query_v1")) << path;
  }
}

TEST(Plugins, ImportNothingFromTheCore) {
  for (const fs::path& path : built_plugins()) {
    const ElfFile file = opened(path);
    EXPECT_THAT(imports_of_ours(file), IsEmpty()) << path;
    EXPECT_THAT(file.needed(), Not(Contains(testing::StartsWith("libgantry")))) << path;
  }
}

// The list comes from CMake: were it empty, the two tests above would hold for nothing.
TEST(Plugins, AreThere) { EXPECT_THAT(built_plugins(), SizeIs(testing::Ge(GANTRY_PLUGIN_COUNT))); }

// The check can fail: a model's library exports more than one symbol.
TEST(Exports, AreAllSeen) {
  EXPECT_THAT(exports_of(opened(test::golden("tvm-0.12/axpy2_llvm.so"))), Contains("axpy2"));
}

}  // namespace
}  // namespace gantry
