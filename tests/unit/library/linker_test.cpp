// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/linker.hpp"

#include "core/plugins/library/library_handle.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::ElfBuilder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A library file and its parsed ELF structures.
struct Library {
  std::string path;
  ElfFile elf;
};
Library library(const std::filesystem::path& path, const ElfBuilder& builder) {
  test::write_file(path, builder.build());
  return {path.string(), ElfFile::parse(MappedFile::open(path).value()).value()};
}

TEST(Linker, FindsLibrariesOfTheSystemAndOfTheProcess) {
  const Linker linker;

  EXPECT_TRUE(linker.find("libc.so.6").has_value());
  EXPECT_TRUE(linker.find("libstdc++.so.6").has_value());
  EXPECT_FALSE(linker.find("libgantry_absent.so.1").has_value());
}

TEST(Linker, SearchesTheRunpathOfTheLibrary) {
  const test::TempDir dir;
  library(dir / "libnear.so.1", ElfBuilder());
  const Library with_runpath = library(dir / "a.so", ElfBuilder().runpath("$ORIGIN"));
  const Library without_runpath = library(dir / "b.so", ElfBuilder());
  const Linker linker;

  EXPECT_EQ(linker.find("libnear.so.1", with_runpath.elf, with_runpath.path),
            (dir / "libnear.so.1").string());
  EXPECT_EQ(linker.find("libnear.so.1", without_runpath.elf, without_runpath.path), std::nullopt);
}

TEST(Linker, PrefersRunpathToRpath) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "run");
  library(dir / "libnear.so.1", ElfBuilder());
  const Library both =
      library(dir / "a.so", ElfBuilder().rpath("$ORIGIN").runpath("${ORIGIN}/run"));
  const Library old = library(dir / "b.so", ElfBuilder().rpath("$ORIGIN"));
  const Linker linker;

  EXPECT_EQ(linker.find("libnear.so.1", both.elf, both.path), std::nullopt);
  EXPECT_EQ(linker.find("libnear.so.1", old.elf, old.path), (dir / "libnear.so.1").string());
}

TEST(Linker, SkipsFilesOfAnotherMachineAndOtherFiles) {
  const test::TempDir dir;
  library(dir / "libnear.so.1",
          ElfBuilder().machine(host_machine() == ElfMachine::aarch64 ? 62 : 183));
  test::write_file(dir / "libtext.so.1", std::string_view("hello, this is no library"));
  const Library with_runpath = library(dir / "a.so", ElfBuilder().runpath("$ORIGIN"));
  const Linker linker;

  EXPECT_EQ(linker.find("libnear.so.1", with_runpath.elf, with_runpath.path), std::nullopt);
  EXPECT_EQ(linker.find("libtext.so.1", with_runpath.elf, with_runpath.path), std::nullopt);
}

// Checks a library's search paths while others may write to a file or directory.
Status check_while_writable(const std::filesystem::path& writable, const Library& library) {
  using std::filesystem::perm_options;
  constexpr auto others = std::filesystem::perms::others_write;
  std::filesystem::permissions(writable, others, perm_options::add);
  Ownership ownership(TrustedOwners::of_process(false));
  Status checked = check_search_paths(library.elf, library.path, ownership);
  std::filesystem::permissions(writable, others, perm_options::remove);
  return checked;
}

TEST(CheckSearchPaths, ChecksEveryFileThatTheLinkerWouldTry) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "first");
  std::filesystem::create_directory(dir / "second");
  library(dir / "second/libnear.so.1", ElfBuilder().rpath("$ORIGIN").needed("libfar.so.1"));
  library(dir / "second/libfar.so.1", ElfBuilder().needed("libfree.so.1"));
  library(dir / "second/libfree.so.1", ElfBuilder());
  const ElfBuilder needy = ElfBuilder().needed("libnear.so.1").needed("libc.so.6");
  const Library outer = library(
      dir / "outer.so", ElfBuilder(needy).runpath("$ORIGIN/first:${ORIGIN}/second:relative"));

  for (const char* tried : {"first", "second", "second/libnear.so.1", "second/libfar.so.1"}) {
    const Status checked = check_while_writable(dir / tried, outer);
    ASSERT_FALSE(checked.ok()) << tried;
    EXPECT_EQ(checked.error().reason, "PERMISSIONS");
    EXPECT_THAT(checked.error().message.text(), ::testing::HasSubstr((dir / tried).string()));
  }
  EXPECT_TRUE(check_while_writable(dir / "second/libfree.so.1", outer).ok());
  EXPECT_TRUE(check_while_writable(dir / "first", library(dir / "plain.so", needy)).ok());
}

TEST(CheckSearchPaths, NamesTheLibraryThatNeedsTheFile) {
  const test::TempDir dir;
  const Library outer =
      library(dir / "outer.so", ElfBuilder().rpath("$ORIGIN").needed("libnear.so.1"));

  const Status status = check_while_writable(dir.path(), outer);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "PERMISSIONS");
  EXPECT_THAT(status.error().message.text(),
              ::testing::HasSubstr(concat("\n  needed by ", outer.path,
                                          ", whose search path (DT_RPATH) contains ",
                                          dir.path().string())));
}

TEST(CheckNeeded, NamesTheChainThatLeadsToAMissingLibrary) {
  const test::TempDir dir;
  library(dir / "libmiddle.so.1", ElfBuilder().runpath("$ORIGIN").needed("libnowhere.so.2"));
  test::write_file(dir / "libnowhere.so.1", std::string_view("older"));
  const Library outer =
      library(dir / "outer.so", ElfBuilder().runpath("$ORIGIN").needed("libmiddle.so.1"));
  const Linker linker;

  const Status whole = combined(needed_problems(outer.elf, outer.path, linker));

  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().code, Code::unavailable);
  EXPECT_EQ(whole.error().reason, "LIB_NEEDED_MISSING");
  EXPECT_THAT(whole.error().message,
              StartsWith(concat(
                  "libnowhere.so.2 is not found, needed by outer.so -> libmiddle.so.1; searched "
                  "$ORIGIN=",
                  dir.path().string(), ", the linker's cache, ")));
  EXPECT_THAT(whole.error().message, HasSubstr("; found libnowhere.so.1 there"));
}

TEST(CheckNeeded, EndsIfLibrariesNeedEachOther) {
  const test::TempDir dir;
  library(dir / "libb.so", ElfBuilder().runpath("$ORIGIN").needed("liba.so"));
  const Library a = library(dir / "liba.so", ElfBuilder().runpath("$ORIGIN").needed("libb.so"));

  EXPECT_TRUE(combined(needed_problems(a.elf, a.path, Linker())).ok());
}

TEST(CheckNeeded, ComparesGlibcVersionsWithThisHosts) {
  const test::TempDir dir;
  const Library newer = library(
      dir / "a.so", ElfBuilder().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_2.99"}));
  const Library older = library(
      dir / "b.so", ElfBuilder().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_2.2.5"}));
  const Linker linker;

  const Status status = combined(needed_problems(newer.elf, newer.path, linker));

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "VERSION_NEEDED");
  EXPECT_THAT(status.error().message,
              StartsWith("a.so needs GLIBC_2.99 of libc.so.6, this host has glibc 2."));
  EXPECT_THAT(status.error().message.text(),
              testing::ContainsRegex("glibc 2\\.[0-9]+, /[^ ]*libc\\.so\\.6: install a newer "
                                     "libc\\.so\\.6 or a plugin that was built for an older"));
  EXPECT_TRUE(combined(needed_problems(older.elf, older.path, linker)).ok());
}

TEST(CheckNeeded, ComparesOtherVersionsWithTheFileThatProvidesThem) {
  const test::TempDir dir;
  const auto needs = [&](std::string_view name, const char* version) {
    return library(dir / name,
                   ElfBuilder().needed("libstdc++.so.6").version_need("libstdc++.so.6", {version}));
  };
  const Library newer = needs("a.so", "GLIBCXX_3.4.999");
  const Library older = needs("b.so", "GLIBCXX_3.4.11");
  const Linker linker;

  const Status status = combined(needed_problems(newer.elf, newer.path, linker));

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "VERSION_NEEDED");
  EXPECT_THAT(status.error().message,
              StartsWith("a.so needs GLIBCXX_3.4.999 of libstdc++.so.6, /"));
  EXPECT_THAT(status.error().message, HasSubstr("libstdc++.so.6 has up to GLIBCXX_3.4."));
  EXPECT_TRUE(combined(needed_problems(older.elf, older.path, linker)).ok());
}

// As in an environment with its own copy of a library of the system.
TEST(CheckNeeded, NamesTheFileThatLacksAVersionAndTheLibraryThatNeedsIt) {
  const test::TempDir dir;
  std::vector<std::uint8_t> provider = ElfBuilder().function("ACME_1.9").build();
  const std::uint64_t entry = ElfFile::parse(provider)->find("ACME_1.9")->at;
  // SHN_ABS, as the linker marks the names of versions
  provider[entry + 6] = 0xf1;
  provider[entry + 7] = 0xff;
  test::write_file(dir / "libacme.so.1", provider);
  library(dir / "libmiddle.so", ElfBuilder()
                                    .runpath("$ORIGIN")
                                    .needed("libacme.so.1")
                                    .version_need("libacme.so.1", {"ACME_1.10"}));
  const Library outer =
      library(dir / "outer.so", ElfBuilder().runpath("$ORIGIN").needed("libmiddle.so"));

  const Status status = combined(needed_problems(outer.elf, outer.path, Linker()));

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "VERSION_NEEDED");
  EXPECT_EQ(status.error().message,
            concat("outer.so -> libmiddle.so needs ACME_1.10 of libacme.so.1, ",
                   (dir / "libacme.so.1").string(),
                   " has up to ACME_1.9: install a newer libacme.so.1 or a plugin that was built "
                   "for an older system"));
}

TEST(CheckNeeded, AcceptsWeakNeedsOfVersionsThatAreMissing) {
  const test::TempDir dir;
  const Linker linker;
  for (const auto& [soname, version] :
       {std::pair{"libc.so.6", "GLIBC_2.99"}, std::pair{"libstdc++.so.6", "GLIBCXX_3.4.999"}}) {
    const Library weak =
        library(dir / "a.so", ElfBuilder().needed(soname).version_need(soname, {version}, true));

    const Status status = combined(needed_problems(weak.elf, weak.path, linker));

    EXPECT_TRUE(status.ok()) << status.error().message;
  }
}

// The messages of glibc and the reasons that they correspond to.
TEST(LinkerError, IsClassifiedByItsText) {
  const std::tuple<std::string, std::string, Code> cases[] = {
      {"libacme.so.4: cannot open shared object file: No such file or directory",
       "LIB_NEEDED_MISSING", Code::unavailable},
      {"/p/a.so: cannot open shared object file: Too many open files", "EXHAUSTED",
       Code::exhausted},
      {"/p/a.so: undefined symbol: acme_init", "SYMBOL_MISSING", Code::unavailable},
      {"/lib/libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required by /p/a.so)",
       "VERSION_NEEDED", Code::unavailable},
      {"/p/a.so: cannot allocate memory in static TLS block", "STATIC_TLS", Code::unavailable},
      {"a.so: cannot enable executable stack as shared object requires: Invalid argument",
       "EXEC_STACK", Code::unsupported},
      {"/p/a.so: an unknown message", "LINKER", Code::unavailable}};
  for (const auto& [message, reason, code] : cases) {
    const Error error = linker_error("/p/a.so", message);
    EXPECT_EQ(error.reason, reason) << message;
    EXPECT_EQ(error.code, code) << message;
    EXPECT_THAT(error.message, StartsWith("/p/a.so: "));
  }
}

TEST(Linker, SkipsFilesOfAnotherClassOrByteOrder) {
  const test::TempDir dir;
  const Library wanted_by = library(dir / "a.so", ElfBuilder().runpath("$ORIGIN"));
  const std::vector<std::uint8_t> good = ElfBuilder().build();
  const Linker linker;
  for (const std::size_t at : {0u, 4u, 5u}) {
    std::vector<std::uint8_t> changed = good;
    changed[at] = at == 5 ? 2 : 1;
    test::write_file(dir / "libnear.so.1", changed);
    EXPECT_EQ(linker.find("libnear.so.1", wanted_by.elf, wanted_by.path), std::nullopt) << at;
  }
}

TEST(CheckNeeded, ListsEveryMissingLibrary) {
  const test::TempDir dir;
  const Library two = library(dir / "two.so", ElfBuilder().needed("liba.so").needed("libb.so"));
  ElfBuilder many;
  for (int i = 0; i < 10; ++i) many.needed(concat("libabsent_", i, ".so"));
  const Library ten = library(dir / "ten.so", many);

  const Error error = combined(needed_problems(two.elf, two.path, Linker())).error();
  const Error shortened = combined(needed_problems(ten.elf, ten.path, Linker())).error();

  EXPECT_THAT(error.message, StartsWith("liba.so is not found, needed by two.so; searched "));
  EXPECT_THAT(error.message, HasSubstr("\n  also: libb.so is not found, needed by two.so; "));
  EXPECT_THAT(shortened.message, HasSubstr("also: libabsent_7.so is not found"));
  EXPECT_THAT(shortened.message, testing::Not(HasSubstr("libabsent_8.so is not found")));
  EXPECT_THAT(shortened.message, testing::EndsWith("\n  and 2 more"));
}

TEST(FindNeeded, EndsAfterTooManyProblems) {
  const test::TempDir dir;
  ElfBuilder hostile;
  for (int i = 0; i < 100; ++i) hostile.needed(concat("libabsent_", i, ".so"));
  const Library outer = library(dir / "outer.so", hostile);

  EXPECT_EQ(find_needed(outer.elf, outer.path, Linker()).problems.size(), 64u);
}

// As in a new process without LD_LIBRARY_PATH, which this test does not set.
TEST(Linker, FindsInstalledLibrariesOnlyInTheLinkersDirectories) {
  const Linker linker(Linker::Search::installed);

  const std::string libc = linker.find("libc.so.6").value_or("");
  const std::string text = linker.describe_search("libgantry_absent.so.1", nullptr, "");

  EXPECT_TRUE(libc.starts_with("/lib") || libc.starts_with("/usr/lib")) << libc;
  EXPECT_THAT(text, StartsWith("searched the linker's cache, /lib"));
  EXPECT_THAT(text, HasSubstr(", /usr/lib"));
}

TEST(FindNeeded, ReportsEveryMissingLibraryOnce) {
  const test::TempDir dir;
  library(dir / "libmiddle.so.1", ElfBuilder().needed("libfar.so").needed("libfurther.so"));
  const Library outer =
      library(dir / "outer.so",
              ElfBuilder().runpath("$ORIGIN").needed("libfar.so").needed("libmiddle.so.1"));

  const NeededLibraries needed = find_needed(outer.elf, outer.path, Linker());

  ASSERT_EQ(needed.problems.size(), 2u);
  EXPECT_THAT(needed.problems[0].message.text(),
              StartsWith("libfar.so is not found, needed by outer.so; "));
  EXPECT_THAT(needed.problems[1].message.text(),
              StartsWith("libfurther.so is not found, needed by outer.so -> libmiddle.so.1; "));
  ASSERT_EQ(needed.libraries.size(), 2u);
  EXPECT_EQ(needed.libraries[1].chain, "outer.so -> libmiddle.so.1");
  EXPECT_FALSE(needed.has_unreadable);
}

TEST(Linker, ListsOnlyOtherNamesAsFound) {
  const test::TempDir dir;
  const Library wanted_by = library(dir / "a.so", ElfBuilder().runpath("$ORIGIN"));
  test::write_file(dir / "libnear.so.1", std::string_view("no library"));
  const Linker linker;

  const std::string text = linker.describe_search("libnear.so.1", &wanted_by.elf, wanted_by.path);

  EXPECT_EQ(text.find("found"), std::string::npos) << text;
}

TEST(CheckNeeded, AcceptsVersionsOfGlibcThatAreNoReleases) {
  const test::TempDir dir;
  const Library needs = library(
      dir / "a.so", ElfBuilder().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_PRIVATE"}));

  const Status status = combined(needed_problems(needs.elf, needs.path, Linker()));

  EXPECT_TRUE(status.ok()) << status.error().message;
}

// A chain of libraries, the last of which needs one that does not exist.
TEST(CheckNeeded, VisitsALimitedNumberOfLibraries) {
  for (const int count : {511, 512}) {
    const test::TempDir dir;
    for (int i = 1; i < count; ++i) {
      const std::string next = i + 1 == count ? "libnone.so" : concat("libchain", i + 1, ".so");
      library(dir / concat("libchain", i, ".so"), ElfBuilder().runpath("$ORIGIN").needed(next));
    }
    const Library first =
        library(dir / "libchain0.so", ElfBuilder().runpath("$ORIGIN").needed("libchain1.so"));

    EXPECT_EQ(combined(needed_problems(first.elf, first.path, Linker())).ok(), count == 512)
        << count;
  }
}

TEST(LinkerError, IsNotAMissingVersionWithoutBothWords) {
  EXPECT_EQ(linker_error("/p/a.so", "/p/b.so: version `B_1' is odd").error().reason, "LINKER");
  EXPECT_EQ(linker_error("/p/a.so", "/p/b.so: not found").error().reason, "LINKER");
}

}  // namespace
}  // namespace gantry
