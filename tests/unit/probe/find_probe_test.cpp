// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/prober.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string add_program(const fs::path& prefix) {
  const fs::path path = prefix / "libexec/gantry/gantry-probe";
  fs::create_directories(path.parent_path());
  test::write_file(path, std::string_view("#!/bin/sh\n"));
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

TEST(FindProbe, SearchesBesideTheCoresDirectory) {
  const TempDir prefix;
  fs::create_directories(prefix / "bin");
  const std::string program = add_program(prefix.path());

  EXPECT_EQ(find_probe((prefix / "bin").string()).path, program);
}

TEST(FindProbe, SearchesBesideADirectoryOfTheArchitecture) {
  const TempDir prefix;
  fs::create_directories(prefix / "lib/x86_64-linux-gnu");
  const std::string program = add_program(prefix.path());

  EXPECT_EQ(find_probe((prefix / "lib/x86_64-linux-gnu").string()).path, program);
}

TEST(FindProbe, PrefersTheNearerOfTwo) {
  const TempDir prefix;
  fs::create_directories(prefix / "usr/lib");
  add_program(prefix.path());
  const std::string near = add_program(prefix / "usr");

  EXPECT_EQ(find_probe((prefix / "usr/lib").string()).path, near);
}

TEST(FindProbe, ListsWhereItSearched) {
  const ProbeProgram found = find_probe("/nowhere/lib/arch");

  EXPECT_EQ(found.path, "");
  EXPECT_THAT(found.searched, ElementsAre("/nowhere/lib/libexec/gantry/gantry-probe",
                                          "/nowhere/libexec/gantry/gantry-probe"));
}

TEST(FindProbe, DoesNotReturnAFileThatIsNoProgram) {
  const TempDir prefix;
  fs::create_directories(prefix / "bin");
  fs::permissions(add_program(prefix.path()), fs::perms::owner_read);

  const ProbeProgram found = find_probe((prefix / "bin").string());

  // root may execute a file that has any execute bit; this one has none
  EXPECT_EQ(found.path, "");
}

TEST(FindProbe, SearchesNothingWithoutADirectory) {
  EXPECT_THAT(find_probe("").searched, IsEmpty());
}

}  // namespace
}  // namespace gantry
