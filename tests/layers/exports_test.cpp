// SPDX-License-Identifier: Apache-2.0
//
// Symbols that the built plugins export and import, read with the core's ELF reader.
#include "core/formats/elf/elf_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// CMake passes the paths in one string, each followed by a comma.
std::vector<fs::path> paths_of(std::string_view list) {
  std::vector<fs::path> all;
  for (std::size_t comma; (comma = list.find(',')) != std::string_view::npos;
       list.remove_prefix(comma + 1)) {
    all.emplace_back(list.substr(0, comma));
  }
  return all;
}

std::vector<fs::path> built_plugins() { return paths_of(GANTRY_PLUGIN_FILES); }

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

// Entries of `runpath` that are not fixed directories; the dynamic linker treats an empty one as
// the working directory.
std::vector<std::string> loose_entries(std::string_view runpath) {
  std::vector<std::string> loose;
  for (std::size_t at = 0; !runpath.empty() && at <= runpath.size();) {
    const std::size_t colon = std::min(runpath.find(':', at), runpath.size());
    const std::string_view entry = runpath.substr(at, colon - at);
    if (!entry.starts_with('/') && !entry.starts_with("$ORIGIN")) loose.emplace_back(entry);
    at = colon + 1;
  }
  return loose;
}

// Undefined symbols of `file` whose names contain "gantry".
std::vector<std::string> imports_of_ours(const ElfFile& file) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : file.symbols()) {
    if (!symbol.defined() && symbol.name.find("gantry") != std::string_view::npos)
      names.emplace_back(symbol.name);
  }
  return names;
}

TEST(Plugins, ExportOnlyTheEntry) {
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

TEST(Binaries, DoNotSearchTheWorkingDirectoryForLibraries) {
  std::vector<fs::path> all = built_plugins();
  const std::vector<fs::path> others = paths_of(GANTRY_BINARY_FILES);
  ASSERT_THAT(others, Not(IsEmpty()));
  all.insert(all.end(), others.begin(), others.end());
  for (const fs::path& path : all) {
    EXPECT_THAT(loose_entries(opened(path).runpath()), IsEmpty()) << path;
  }
  EXPECT_THAT(loose_entries("/usr/lib::$ORIGIN:lib:"), ElementsAre("", "lib", ""));
}

// Programs that read no .npz file do not load zlib: core/decisions/0003-reading-npz-archives.md.
TEST(Binaries, DoNotDependOnZlib) {
  for (const fs::path& path : paths_of(GANTRY_BINARY_FILES)) {
    const ElfFile file = opened(path);
    EXPECT_THAT(file.needed(), Not(Contains(testing::StartsWith("libz")))) << path;
    EXPECT_THAT(exports_of(file), Not(Contains("inflate"))) << path;
  }
}

// With an empty list from CMake the tests of plugins would check nothing.
TEST(Plugins, AreListedByCMake) {
  EXPECT_THAT(built_plugins(), SizeIs(testing::Ge(GANTRY_PLUGIN_COUNT)));
}

TEST(Library, ExportsFunctionsOfCAlone) {
  EXPECT_THAT(exports_of(opened(GANTRY_LIBRARY_FILE)),
              testing::UnorderedElementsAre("gantry_embed_query_v1", "gantry_host_function"));
}

// Shows that the check can fail: a model's library exports more than one symbol.
TEST(Exports, AreAllFound) {
  EXPECT_THAT(exports_of(opened(test::golden("tvm-0.12/axpy2_llvm.so"))), Contains("axpy2"));
}

}  // namespace
}  // namespace gantry
