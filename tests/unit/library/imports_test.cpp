// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/imports.hpp"

#include "core/plugins/library/library_handle.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

#include <dlfcn.h>

namespace gantry {
namespace {

namespace fs = std::filesystem;

using test::core_info;
using test::ElfBuilder;
using test::World;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// The runtimes of sanitizers have no versions either, so they are listed with the dependency.
#ifdef __SANITIZE_ADDRESS__
constexpr std::string_view kOneOf = "one of .*", kOthers = ".*";
#else
constexpr std::string_view kOneOf = "", kOthers = "";
#endif

// A plugin whose dependency was upgraded to a version without one function.
class UpgradedDependency : public ::testing::Test {
 protected:
  UpgradedDependency() {
    world.add("a", "missing_dependency");
    fs::copy_file(
        test::fake_library("good").parent_path() / "not_searched/upgraded/libfake_dependency.so.4",
        world.path() / "a/libfake_dependency.so.4.2.1");
    fs::create_symlink("libfake_dependency.so.4.2.1", world.path() / "a/libfake_dependency.so.4");
  }
  std::string expected(std::string_view directory) const {
    return concat(world.library("a").string(),
                  ": no library defines fake_dependency, which libfake.so needs: it was built "
                  "against another version of ",
                  kOneOf, "libfake_dependency.so.4 \\(", directory,
                  "/a/libfake_dependency.so.4.2.1, build id [0-9a-f]+\\)", kOthers,
                  "; install the version that it was built with.*");
  }
  World world;
};

// The linker's message names only the function and the plugin.
TEST_F(UpgradedDependency, IsNamedWithItsVersionAndBuildId) {
  const auto plugin = open_plugin(world.manifest("a"), core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().code, Code::unavailable);
  EXPECT_EQ(plugin.error().reason, "SYMBOL_MISSING");
  EXPECT_THAT(plugin.error().message.text(),
              MatchesRegex(expected(fs::canonical(world.path()).string())));
  EXPECT_THAT(plugin.error().message, HasSubstr("\n  linker message: "));
}

TEST_F(UpgradedDependency, IsFoundWithoutOpeningThePlugin) {
  const auto closed = inspect_plugin(world.manifest("a"), core_info().abi, Depth::dependencies);
  const auto shallow = inspect_plugin(world.manifest("a"), core_info().abi, Depth::library);

  EXPECT_TRUE(shallow.ok());
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().reason, "SYMBOL_MISSING");
  EXPECT_THAT(closed.error().message.text(),
              MatchesRegex(expected(fs::canonical(world.path()).string())));
}

// A file in a directory, with its libraries searched beside it.
Status check_built(const fs::path& path, ElfBuilder builder) {
  test::write_file(path, builder.runpath("$ORIGIN").build());
  const auto elf = ElfFile::parse(MappedFile::open(path).value()).value();
  return combined(needed_problems(elf, path.string(), Linker()));
}

TEST(CheckImports, NamesTheLibraryThatImportsTheSymbol) {
  const test::TempDir dir;
  test::write_file(
      dir / "libmiddle.so",
      ElfBuilder().runpath("$ORIGIN").needed("libinner.so").undefined("_ZN4acme4initEi").build());
  test::write_file(dir / "libinner.so", ElfBuilder().function("_ZN4acme5init2Ei").build());

  const Status status = check_built(dir / "outer.so", ElfBuilder().needed("libmiddle.so"));

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unavailable);
  EXPECT_EQ(status.error().reason, "SYMBOL_MISSING");
  EXPECT_EQ(status.error().message,
            concat((dir / "outer.so").string(),
                   ": no library defines _ZN4acme4initEi (acme::init(int)), which outer.so -> "
                   "libmiddle.so needs: it was built against another version of libinner.so (",
                   fs::canonical(dir / "libinner.so").string(),
                   "); install the version that it was built with"));
}

TEST(CheckImports, ListsSymbolsAndLibraries) {
  const test::TempDir dir;
  test::write_file(dir / "liba.so", ElfBuilder().build());
  test::write_file(dir / "libb.so", ElfBuilder().build());
  ElfBuilder outer = ElfBuilder().needed("liba.so").needed("libb.so");
  for (const char* name : {"f1", "f2", "f3", "f4", "f5", "f6"}) outer.undefined(name);

  const Status status = check_built(dir / "outer.so", outer);

  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr(": no library defines f1, f2, f3, f4, f5 and 1 more, which outer.so needs: "
                        "it was built against another version of one of liba.so ("));
  EXPECT_THAT(status.error().message, HasSubstr("), libb.so ("));
}

// The linker adds a version to an import from a library that defines versions.
TEST(CheckImports, DoesNotSuspectLibrariesWithVersions) {
  const test::TempDir dir;
  test::write_file(dir / "liba.so", ElfBuilder().build());

  const Status status = check_built(
      dir / "outer.so", ElfBuilder().needed("libc.so.6").needed("liba.so").undefined("f"));
  const Status alone =
      check_built(dir / "alone.so", ElfBuilder().needed("libc.so.6").undefined("f"));

  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, Not(HasSubstr("libc.so.6")));
  EXPECT_THAT(status.error().message, HasSubstr("another version of liba.so ("));
  ASSERT_FALSE(alone.ok());
  EXPECT_THAT(alone.error().message, HasSubstr("another version of one of its libraries; install"));
}

TEST(CheckImports, AcceptsSymbolsOfLibrariesAndOfTheProgram) {
  const test::TempDir dir;
  test::write_file(dir / "liba.so", ElfBuilder().function("of_a").build());

  const Status status =
      check_built(dir / "outer.so",
                  ElfBuilder().needed("liba.so").undefined("of_a").undefined("pthread_create"));

  EXPECT_TRUE(status.ok()) << status.error().message;
}

// Its symbols were bound when it was opened, lazily perhaps.
TEST(CheckImports, DoesNotCheckALibraryThatIsOpen) {
  const std::string path = test::fake_library("imports_nobody").string();
  const auto elf = ElfFile::parse(MappedFile::open(path).value()).value();
  EXPECT_FALSE(combined(needed_problems(elf, path, Linker())).ok());

  void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << ::dlerror();

  EXPECT_TRUE(combined(needed_problems(elf, path, Linker())).ok());
  ::dlclose(handle);
}

// A symbol may be defined by a library that was not visited.
TEST(CheckImports, AcceptsAnySymbolIfNotAllLibrariesAreKnown) {
  for (const int count : {3, 513}) {
    const test::TempDir dir;
    for (int i = 1; i < count; ++i) {
      ElfBuilder library = ElfBuilder().runpath("$ORIGIN");
      if (i + 1 < count) library.needed(concat("libchain", i + 1, ".so"));
      test::write_file(dir / concat("libchain", i, ".so"), library.build());
    }

    const Status status =
        check_built(dir / "libchain0.so", ElfBuilder().needed("libchain1.so").undefined("f"));

    EXPECT_EQ(status.ok(), count == 513) << count;
  }
}

TEST(SymbolText, HasTheNameOfTheSource) {
  EXPECT_EQ(symbol_text("_ZN4acme4initEv"), "_ZN4acme4initEv (acme::init())");
  EXPECT_EQ(symbol_text("acme_init"), "acme_init");
}

// glibc's message for a function whose library still exists and lacks the version.
TEST(LinkerError, NamesTheFileWithoutTheVersion) {
  const Error error = linker_error("/p/a.so",
                                   "/p/a.so: symbol _ZN4acme4initEv version ACME_2 not defined in "
                                   "file libacme.so.4 with link time reference")
                          .error();

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "SYMBOL_MISSING");
  EXPECT_EQ(error.message,
            "/p/a.so: libacme.so.4 does not define _ZN4acme4initEv (acme::init()) of version "
            "ACME_2, which /p/a.so needs: it was built against another version of libacme.so.4");
}

// Lazy binding would end the process at the first call of the function.
TEST(OpenPlugin, FindsAMissingFunctionThatWouldBeBoundLazily) {
  World world;
  world.add("a", "imports_nobody");
  const auto file = MappedFile::open(world.library("a")).value();
  ASSERT_FALSE(ElfFile::parse(file)->flags().bind_now);

  const auto plugin = open_plugin(world.manifest("a"), core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().reason, "SYMBOL_MISSING");
  EXPECT_THAT(plugin.error().message,
              StartsWith(world.library("a").string() +
                         ": no library defines _ZN7sibling21removed_by_an_upgradeEi "
                         "(sibling::removed_by_an_upgrade(int)), which libfake.so needs: "));
}

}  // namespace
}  // namespace gantry
