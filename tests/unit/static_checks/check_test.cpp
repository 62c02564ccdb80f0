// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/static/check.hpp"

#include "core/base/digest/digest.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/plugins/manifest/machine_traits.hpp"
#include "core/plugins/trust/minisign.hpp"
#include "tests/support/changed_elf.hpp"
#include "tests/support/minisign_signer.hpp"
#include "tests/support/note_bytes.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>
#include <algorithm>
#include <functional>

namespace gantry {
namespace {

using test::ElfBuilder;
using test::fake_manifest;
using test::ManifestBuilder;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr CheckOutcome kPassed = CheckOutcome::passed, kFailed = CheckOutcome::failed,
                       kSkipped = CheckOutcome::skipped;

// Tags of the dynamic segment.
constexpr std::uint64_t kTextRelocations = 22, kBindNow = 24, kFlags = 30;
constexpr std::uint64_t kStaticTlsFlag = 0x10;

// A library that fails no case.
ElfBuilder conforming_elf() { return test::plugin_elf().relro().dynamic(kBindNow, 0); }
ManifestBuilder conforming_manifest() {
  return fake_manifest().set("targets", "{libc: [\"glibc>=2.28\"]}");
}

// Checks a package of one library and one manifest.
PluginCheck check(const std::vector<std::uint8_t>& library,
                  const ManifestBuilder& manifest = conforming_manifest()) {
  World world;
  const std::string file = world.add("x", "", manifest);
  if (!library.empty()) test::write_file(world.library("x"), library);
  return check_plugin(file);
}
PluginCheck check(const ElfBuilder& elf, const ManifestBuilder& manifest = conforming_manifest()) {
  return check(elf.build(), manifest);
}

CheckFinding finding(const PluginCheck& check, int number) {
  const auto at = std::find_if(check.findings.begin(), check.findings.end(),
                               [&](const CheckFinding& one) { return one.number == number; });
  return at == check.findings.end() ? CheckFinding() : *at;
}
std::vector<int> failed_cases(const PluginCheck& check) {
  std::vector<int> numbers;
  for (const CheckFinding& one : check.findings) {
    if (one.outcome == kFailed) numbers.push_back(one.number);
  }
  return numbers;
}

TEST(CheckPlugin, ReportsEveryCaseOfAConformingPlugin) {
  const PluginCheck result = check(conforming_elf());

  EXPECT_EQ(result.id, "test.fake");
  EXPECT_EQ(result.version, "1.0.0");
  EXPECT_THAT(failed_cases(result), IsEmpty());
  EXPECT_TRUE(result.conforms());
  std::vector<int> numbers, skipped;
  for (const CheckFinding& one : result.findings) {
    numbers.push_back(one.number);
    if (one.outcome == kSkipped) skipped.push_back(one.number);
    EXPECT_FALSE(one.text.empty()) << one.number;
  }
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15));
  EXPECT_THAT(skipped, ElementsAre(12, 14));
}

TEST(CheckPlugin, SkipsTheOtherCasesWithoutAManifestOrALibrary) {
  const PluginCheck no_manifest = check(conforming_elf(), ManifestBuilder().line("surprise: 1"));
  const PluginCheck no_library = check(std::vector<std::uint8_t>());

  EXPECT_THAT(failed_cases(no_manifest), ElementsAre(1));
  EXPECT_EQ(finding(no_manifest, 2).text, "case 1 has failed");
  EXPECT_THAT(failed_cases(no_library), ElementsAre(0));
  EXPECT_EQ(finding(no_library, 15).text, "case 0 has failed");
  EXPECT_EQ(no_library.findings.size(), 15u);
  EXPECT_FALSE(no_manifest.conforms());
  EXPECT_FALSE(no_library.conforms());
}

struct Spoilt {
  std::string name;
  // the only case that fails
  int number;
  ElfBuilder elf;
  ManifestBuilder manifest;
  std::string text;
  bool conforms = false;
};

class CheckPluginFails : public ::testing::TestWithParam<Spoilt> {};

TEST_P(CheckPluginFails, OneCase) {
  const Spoilt& spoilt = GetParam();

  const PluginCheck result = check(spoilt.elf, spoilt.manifest);

  EXPECT_THAT(failed_cases(result), ElementsAre(spoilt.number));
  EXPECT_THAT(finding(result, spoilt.number).text, HasSubstr(spoilt.text));
  EXPECT_EQ(result.conforms(), spoilt.conforms);
}

ElfBuilder of_note(const std::function<void(gantry_note&)>& change) {
  gantry_note note = test::note_record();
  change(note);
  return test::plugin_elf(test::bytes_of(note)).relro().dynamic(kBindNow, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CheckPluginFails,
    ::testing::Values(
        Spoilt{"Library", 0, conforming_elf().type(2), conforming_manifest(),
               "libfake.so is a program, expected a shared library"},
        Spoilt{"Manifest", 1, conforming_elf(), conforming_manifest().line("surprise: 1"),
               "x.yaml:"},
        Spoilt{"Id", 2, of_note([](gantry_note& note) { note.id[0] = 'r'; }), conforming_manifest(),
               "id is test.fake in the manifest, rest.fake in the note: generate the manifest"},
        Spoilt{"Version", 2, of_note([](gantry_note& note) { note.version[0] = '2'; }),
               conforming_manifest(), "version is 1.0.0 in the manifest, 2.0.0 in the note"},
        Spoilt{"Abi", 2, of_note([](gantry_note& note) { note.abi.max_minor = 2; }),
               conforming_manifest(), "ABI is 1.0 in the manifest, 1.0-1.2 in the note"},
        Spoilt{"Isa", 2, of_note([](gantry_note& note) { note.isa = 3; }),
               conforming_manifest().set("targets", "{isa: x86-64-v2, libc: [\"glibc>=2.28\"]}"),
               "CPU level is x86-64-v2 in the manifest, "},
        Spoilt{"Exports", 3, conforming_elf().function("helper").object("table", {}),
               conforming_manifest(),
               "exports 2 symbols besides gantry_plugin_query_v1: helper, table: link it with the "
               "version script"},
        Spoilt{"Undefined", 5, conforming_elf().needed("libc.so.6").undefined("acme_init"),
               conforming_manifest(), "no needed library defines acme_init: link the libraries"},
        Spoilt{"Needed", 6, conforming_elf().needed("libacme.so.1").needed("libacme.so.2"),
               conforming_manifest(),
               "libacme.so.1 is not found, needed by libfake.so; searched the linker's cache, "},
        Spoilt{"NeededSecond", 6, conforming_elf().needed("libacme.so.1").needed("libacme.so.2"),
               conforming_manifest(), "\nlibacme.so.2 is not found, needed by libfake.so; "},
        Spoilt{"AbsolutePath", 7, conforming_elf().runpath("$ORIGIN:/opt/acme/lib"),
               conforming_manifest(),
               "DT_RUNPATH /opt/acme/lib: only $ORIGIN and directories below it"},
        Spoilt{"RelativePath", 7, conforming_elf().rpath("lib"), conforming_manifest(),
               "DT_RPATH lib: "},
        Spoilt{"EmptyPath", 7, conforming_elf().runpath("$ORIGIN:"), conforming_manifest(),
               "DT_RUNPATH \"\", the working directory: "},
        Spoilt{"OtherVariable", 7, conforming_elf().runpath("$ORIGINAL/lib"), conforming_manifest(),
               "DT_RUNPATH $ORIGINAL/lib: "},
        Spoilt{"Stack", 8, conforming_elf().executable_stack(), conforming_manifest(),
               "requires an executable stack: link it with -Wl,-z,noexecstack"},
        Spoilt{"TextRelocations", 8, conforming_elf().dynamic(kTextRelocations, 0),
               conforming_manifest(), "has text relocations: compile it with -fPIC"},
        Spoilt{"Relro", 8, test::plugin_elf().dynamic(kBindNow, 0), conforming_manifest(),
               "has no PT_GNU_RELRO segment: link it with -Wl,-z,relro"},
        Spoilt{"Now", 8, test::plugin_elf().relro(), conforming_manifest(),
               "binds its symbols late: link it with -Wl,-z,now"},
        Spoilt{"StaticTls", 9, conforming_elf().tls(257).dynamic(kFlags, kStaticTlsFlag),
               conforming_manifest(),
               "requires 257 bytes of static thread-local storage, limit is 256: compile it with "},
        Spoilt{"DeclaredGlibc", 10,
               conforming_elf().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_2.34"}),
               conforming_manifest(), "needs glibc 2.34, targets.libc declares glibc>=2.28: "},
        Spoilt{
            "PackedRelocations", 10,
            conforming_elf().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_ABI_DT_RELR"}),
            conforming_manifest(), "needs glibc 2.36, targets.libc declares glibc>=2.28: "},
        Spoilt{"GlibcOfThisHost", 10,
               conforming_elf().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_2.99"}),
               fake_manifest(), "libfake.so needs GLIBC_2.99 of libc.so.6, this host has glibc "},
        Spoilt{"SelfContained", 14, conforming_elf().needed("libcrypt.so.1"),
               conforming_manifest().set("self_contained", "true"),
               "needs libcrypt.so.1: link them statically"}),
    [](const auto& test) { return test.param.name; });

TEST(CheckPlugin, AcceptsDirectoriesBesideTheLibrary) {
  const PluginCheck result = check(conforming_elf().runpath("$ORIGIN:${ORIGIN}/../lib"));

  EXPECT_EQ(finding(result, 7).outcome, kPassed);
}

TEST(CheckPlugin, FindsLibrariesBesideThePlugin) {
  World world;
  const std::string file = world.add("x", "", conforming_manifest());
  test::write_file(
      world.library("x"),
      conforming_elf().runpath("$ORIGIN").needed("libnear.so").undefined("near").build());
  test::write_file(world.path() / "x/libnear.so", ElfBuilder().function("near").build());

  const PluginCheck result = check_plugin(file);

  EXPECT_THAT(failed_cases(result), IsEmpty());
  EXPECT_EQ(finding(result, 5).text, "all symbols are in 1 needed libraries");
}

// A should-case: the plugin conforms.
TEST(CheckPlugin, ReportsUniqueSymbolsAsAWarning) {
  std::vector<std::uint8_t> bytes = conforming_elf().object("shared", {}).build();
  test::make_unique(bytes, "shared");

  const PluginCheck result = check(bytes);

  EXPECT_THAT(failed_cases(result), ElementsAre(4));
  EXPECT_THAT(finding(result, 4).text, StartsWith("1 symbols are STB_GNU_UNIQUE"));
  EXPECT_THAT(finding(result, 4).text, HasSubstr("shared: compile it with -fno-gnu-unique"));
  EXPECT_FALSE(finding(result, 4).must);
  EXPECT_TRUE(result.conforms());
}

TEST(CheckPlugin, ComparesTheDigest) {
  const std::vector<std::uint8_t> library = conforming_elf().build();
  const std::string digest = hex_text(sha256(library)), other(64, 'c');
  const auto with = [&](const std::string& claimed) {
    return finding(check(library, conforming_manifest().set("sha256", '"' + claimed + '"')), 12);
  };

  EXPECT_EQ(with(digest).outcome, kPassed);
  EXPECT_EQ(with(digest).text, "sha256 is that of the library");
  EXPECT_EQ(with(other).outcome, kFailed);
  EXPECT_EQ(with(other).text,
            concat("sha256 is ", other, " in the manifest, ", digest,
                   " of the library: write the digest after the last step that changes the "
                   "library, for example strip"));
}

// The manifest of a package that a vendor signs.
class SignedPackage : public ::testing::Test {
 protected:
  CheckFinding digest_case(const ManifestBuilder& manifest, const std::string& signature) {
    const std::string file = world.add("x", "", manifest);
    test::write_file(world.library("x"), library);
    test::write_file(file + ".minisig", signature);
    return finding(check_plugin(file), 12);
  }

  World world;
  const std::vector<std::uint8_t> library = conforming_elf().build();
  const ManifestBuilder with_digest =
      conforming_manifest().set("sha256", '"' + hex_text(sha256(library)) + '"');
};

TEST_F(SignedPackage, IsReportedWithTheNumberOfItsKey) {
  const test::MinisignSigner signer;

  const CheckFinding found = digest_case(with_digest, signer.sign("a manifest"));

  EXPECT_EQ(found.outcome, kPassed);
  EXPECT_EQ(found.text, concat("sha256 is that of the library; the manifest is signed with key ",
                               text_of(parse_minisign_key(signer.public_key()).value().number)));
}

TEST_F(SignedPackage, IsRefusedIfItsSignatureIsMalformed) {
  const CheckFinding found = digest_case(with_digest, "untrusted comment: x\n");

  EXPECT_EQ(found.outcome, kFailed);
  EXPECT_THAT(found.text, HasSubstr("x.yaml.minisig"));
}

TEST_F(SignedPackage, RequiresADigestOfItsLibrary) {
  const test::MinisignSigner signer;

  const CheckFinding found = digest_case(conforming_manifest(), signer.sign("a manifest"));

  EXPECT_EQ(found.outcome, kFailed);
  EXPECT_THAT(found.text, HasSubstr("is signed and has no sha256 of its library, so the signature "
                                    "does not cover the library: add sha256, then sign"));
}

TEST(CheckPlugin, RequiresTheNoteInALoadedSegment) {
  std::vector<std::uint8_t> bytes = conforming_elf().build();
  test::unload_note(bytes);

  const PluginCheck result = check(bytes);

  EXPECT_THAT(failed_cases(result), ElementsAre(13));
  EXPECT_THAT(finding(result, 13).text, StartsWith("no loaded segment contains the note"));
}

TEST(CheckPlugin, ReportsALibraryWithoutANoteTwice) {
  const PluginCheck result = check(
      ElfBuilder().function("gantry_plugin_query_v1").at_least(4096).relro().dynamic(kBindNow, 0));

  EXPECT_THAT(failed_cases(result), ElementsAre(2, 13));
  EXPECT_THAT(finding(result, 2).text, HasSubstr("has no note with a plugin's identity"));
}

TEST(CheckPlugin, FindsACoreLibraryInThePackage) {
  for (const std::string name : {"libgantry.so.0", "lib/libgantry.so", "lib/other_name.so"}) {
    World world;
    const std::string file = world.add("x", "", conforming_manifest());
    test::write_file(world.library("x"), conforming_elf().build());
    std::filesystem::create_directory(world.path() / "x/lib");
    test::write_file(world.path() / "x" / name, ElfBuilder().soname("libgantry.so.0").build());

    const PluginCheck result = check_plugin(file);

    EXPECT_THAT(failed_cases(result), ElementsAre(15)) << name;
    EXPECT_EQ(finding(result, 15).text, concat((world.path() / "x" / name).string(),
                                               ": a package has no copy of the core, remove it"));
  }
}

TEST(CheckPlugin, RefusesALibraryThatNeedsTheCore) {
  World world;
  const std::string file = world.add("x", "", conforming_manifest());
  test::write_file(world.library("x"),
                   conforming_elf().runpath("$ORIGIN/core").needed("libgantry.so.0").build());

  const PluginCheck result = check_plugin(file);

  EXPECT_EQ(finding(result, 15).outcome, kFailed);
  EXPECT_EQ(finding(result, 15).text,
            "the library needs libgantry.so.0: do not link the core, use the host table");
}

TEST(CheckPlugin, RefusesALinkToAnotherDirectory) {
  World world;
  const std::string file = world.add("x", "", conforming_manifest());
  test::write_file(world.path() / "elsewhere.so", conforming_elf().build());
  std::filesystem::create_symlink("../elsewhere.so", world.library("x"));

  const PluginCheck result = check_plugin(file);

  EXPECT_THAT(failed_cases(result), ElementsAre(0));
  EXPECT_THAT(finding(result, 0).text,
              HasSubstr("elsewhere.so, which is in another directory: install the library itself"));
}

TEST(CheckPlugin, AcceptsALinkInTheDirectory) {
  World world;
  const std::string file = world.add("x", "", conforming_manifest());
  test::write_file(world.path() / "x/libfake.so.1.0.0", conforming_elf().build());
  std::filesystem::create_symlink("libfake.so.1.0.0", world.library("x"));

  EXPECT_THAT(failed_cases(check_plugin(file)), IsEmpty());
}

TEST(CheckPlugin, SkipsWhatItCannotCompareForAnotherMachine) {
  const bool here_is_arm = host_machine() == ElfMachine::aarch64;

  const PluginCheck result = check(
      conforming_elf().machine(here_is_arm ? 62 : 183).needed("libacme.so.1").undefined("acme"));

  EXPECT_THAT(failed_cases(result), IsEmpty());
  EXPECT_EQ(finding(result, 5).text, "the library is for another machine");
  EXPECT_EQ(finding(result, 6).outcome, kSkipped);
}

TEST(ManifestIn, ReturnsTheOnlyManifestOfADirectory) {
  World world;
  const std::string file = world.add("x", "");
  const std::string directory = (world.path() / "x").string();

  EXPECT_EQ(manifest_in(directory).value(), file);
  EXPECT_EQ(manifest_in(file).value(), file);

  fake_manifest().write_to(world.path() / "x/second.yaml");
  const auto several = manifest_in(directory);
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(several.error().code, Code::invalid);
  EXPECT_EQ(several.error().reason, "MANIFEST_FOLDER");
  EXPECT_EQ(several.error().message,
            concat(directory, " contains 2 manifests, expected 1: pass one of ", directory,
                   "/second.yaml, ", directory, "/x.yaml"));
}

// As discovery does, which reads one of them.
TEST(ManifestIn, ReturnsTheManifestForThisMachine) {
  World world;
  const std::string file = world.add("x", "");
  const std::filesystem::path here = world.path() / concat("x/x.", host_traits().arch, ".yaml");
  std::filesystem::rename(file, here);
  for (const char* machine : {"x86_64", "aarch64", "riscv64"}) {
    if (machine != host_traits().arch)
      fake_manifest().write_to(world.path() / concat("x/x.", machine, ".yaml"));
  }

  EXPECT_EQ(manifest_in((world.path() / "x").string()).value(), here);
}

TEST(ManifestIn, NamesAPathWithoutAManifest) {
  const test::TempDir empty;

  const auto nothing = manifest_in(empty.path().string());
  const auto absent = manifest_in((empty.path() / "absent").string());

  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::not_found);
  EXPECT_EQ(
      nothing.error().message,
      empty.path().string() + " contains no manifest for this machine: no file ends with .yaml");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().message, (empty.path() / "absent").string() +
                                        " does not exist, expected a manifest or the directory of "
                                        "a plugin");
}

}  // namespace
}  // namespace gantry
