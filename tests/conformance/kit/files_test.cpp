// SPDX-License-Identifier: Apache-2.0
//
// Each wrong file fails the case of level S that forbids it, and no other case of that level. Every
// refusal of a case is in tests/unit/static_checks/check_test.cpp.
#include "defects.hpp"
#include "kit_run.hpp"

#include "tests/support/changed_elf.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/note_bytes.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Tags of the dynamic segment.
constexpr std::uint64_t kBindNow = 24, kFlags = 30;
constexpr std::uint64_t kStaticTlsFlag = 0x10;

// A library and a manifest that fail no case.
ElfBuilder right_elf() { return plugin_elf().relro().dynamic(kBindNow, 0); }
ManifestBuilder right_manifest() {
  return ManifestBuilder()
      .key("fake")
      .device("fake_device")
      .set("targets", "{libc: [\"glibc>=2.28\"]}");
}

struct WrongPackage {
  std::string name;
  int case_number;
  std::vector<std::uint8_t> library;
  ManifestBuilder manifest;
  std::string found;
  // "FAILED", or "WARNING" of a `should` case
  std::string state = "FAILED";
};

std::vector<std::uint8_t> changed(std::vector<std::uint8_t> bytes,
                                  const std::function<void(std::vector<std::uint8_t>&)>& change) {
  change(bytes);
  return bytes;
}

std::vector<std::uint8_t> of_another_id() {
  return plugin_elf(bytes_of(note_record("test.other"))).relro().dynamic(kBindNow, 0).build();
}

const std::vector<WrongPackage>& wrong_packages() {
  static const auto& all = *new std::vector<WrongPackage>{
      {"Library", 1, right_elf().type(2).build(), right_manifest(), "is a program"},
      {"Identity", 2, of_another_id(), right_manifest(),
       "id is test.fake in the manifest, test.other in the note"},
      {"Exports", 3, right_elf().function("helper").build(), right_manifest(),
       "exports 1 symbols besides gantry_plugin_query_v1: helper"},
      {"UniqueSymbol", 4,
       changed(right_elf().object("shared", {}).build(),
               [](auto& bytes) { make_unique(bytes, "shared"); }),
       right_manifest(), "1 symbols are STB_GNU_UNIQUE", "WARNING"},
      {"UndefinedSymbol", 5, right_elf().needed("libc.so.6").undefined("acme_init").build(),
       right_manifest(), "no needed library defines acme_init"},
      {"NeededLibrary", 6, right_elf().needed("libacme.so.1").build(), right_manifest(),
       "libacme.so.1 is not found"},
      {"SearchPath", 7, right_elf().runpath("/opt/acme/lib").build(), right_manifest(),
       "DT_RUNPATH /opt/acme/lib"},
      {"Stack", 8, right_elf().executable_stack().build(), right_manifest(),
       "requires an executable stack"},
      {"StaticTls", 9, right_elf().tls(257).dynamic(kFlags, kStaticTlsFlag).build(),
       right_manifest(), "requires 257 bytes of static thread-local storage"},
      {"SymbolVersion", 10,
       right_elf().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_2.34"}).build(),
       right_manifest(), "needs glibc 2.34, targets.libc declares glibc>=2.28"},
      {"Digest", 12, right_elf().build(),
       right_manifest().set("sha256", '"' + std::string(64, 'a') + '"'), "in the manifest, "},
      {"Note", 13, changed(right_elf().build(), unload_note), right_manifest(),
       "no loaded segment contains the note"},
      {"SelfContained", 14, right_elf().needed("libcrypt.so.1").build(),
       right_manifest().set("self_contained", "true"), "needs libcrypt.so.1"},
      {"CoreLibrary", 15, right_elf().runpath("$ORIGIN").build(), right_manifest(),
       "a package has no copy of the core"},
  };
  return all;
}

// Runs the cases of level S over a package.
KitRun run_over_package(const TempDir& temp, const std::vector<std::uint8_t>& library,
                        const ManifestBuilder& manifest) {
  write_file(temp / "libfake.so", library);
  const std::string file = manifest.write_to(std::filesystem::path(temp / "fake.yaml")).string();
  return run_kit({file, "--level", "S"});
}

TEST(KitOverFiles, ThatAreRightPasses) {
  const TempDir temp;

  const KitRun run = run_over_package(temp, right_elf().build(), right_manifest());

  EXPECT_THAT(run.cases("FAILED"), IsEmpty()) << run.output;
  EXPECT_THAT(run.cases("WARNING"), IsEmpty()) << run.output;
}

class KitOverWrongPackage : public ::testing::TestWithParam<WrongPackage> {};

TEST_P(KitOverWrongPackage, FailsThatCaseOnly) {
  const WrongPackage& wrong = GetParam();
  const TempDir temp;
  if (wrong.case_number == 15) write_file(temp / "libgantry.so.0", right_elf().build());

  const KitRun run = run_over_package(temp, wrong.library, wrong.manifest);

  const bool warns = wrong.state == "WARNING";
  EXPECT_THAT(run.cases(wrong.state), ElementsAre(wrong.case_number)) << run.output;
  EXPECT_THAT(run.cases(warns ? "FAILED" : "WARNING"), IsEmpty()) << run.output;
  EXPECT_THAT(run.output, HasSubstr(wrong.found));
}

INSTANTIATE_TEST_SUITE_P(Kit, KitOverWrongPackage, ::testing::ValuesIn(wrong_packages()),
                         [](const auto& test) { return test.param.name; });

}  // namespace

std::vector<int> cases_failed_by_files() {
  std::vector<int> numbers;
  for (const WrongPackage& each : wrong_packages()) numbers.push_back(each.case_number);
  return numbers;
}

}  // namespace gantry::test
