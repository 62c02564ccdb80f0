// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/staging_directory.hpp"

#include "tests/support/file_calls.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/cli_install/archive_builder.hpp"
#include "tests/unit/cli_install/mode_of.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::FileCalls;
using test::mode_of;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::size_t count_in(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

TEST(StagingDirectory, RemovesEverythingUnlessItWasMoved) {
  const TempDir dir;
  {
    auto staging = StagingDirectory::beside(dir / "target").value();
    ASSERT_TRUE(staging.add_file("a/b/c", bytes_of("text"), false).ok());
    EXPECT_EQ(count_in(dir.path()), 1u);
  }
  EXPECT_EQ(count_in(dir.path()), 0u);
}

TEST(StagingDirectory, RenamesAPartAndRemovesTheRest) {
  const TempDir dir;
  {
    auto staging = StagingDirectory::beside(dir / "target").value();
    ASSERT_TRUE(staging.add_file("part/x", bytes_of("text"), false).ok());
    ASSERT_TRUE(staging.add_file("other", bytes_of("text"), false).ok());
    ASSERT_TRUE(staging.move_to("part", dir / "target").ok());
  }
  EXPECT_EQ(test::read_file(dir / "target/x").size(), 4u);
  EXPECT_EQ(count_in(dir.path()), 1u);
}

TEST(StagingDirectory, SetsModesWhateverTheUmaskIs) {
  const TempDir dir;
  const mode_t before = ::umask(077);
  {
    auto staging = StagingDirectory::beside(dir / "target").value();
    ASSERT_TRUE(staging.add_file("sub/plain", bytes_of("x"), false).ok());
    ASSERT_TRUE(staging.add_file("sub/program", bytes_of("x"), true).ok());
    ASSERT_TRUE(staging.move_to("", dir / "target").ok());
  }
  ::umask(before);

  EXPECT_EQ(mode_of(dir / "target"), 0755u);
  EXPECT_EQ(mode_of(dir / "target/sub"), 0755u);
  EXPECT_EQ(mode_of(dir / "target/sub/plain"), 0644u);
  EXPECT_EQ(mode_of(dir / "target/sub/program"), 0755u);
}

TEST(StagingDirectory, RefusesNamesThatLeaveIt) {
  const TempDir dir;
  auto staging = StagingDirectory::beside(dir / "target").value();
  for (const char* name : {"../x", "a/../../x", "/etc/x", "", "a/./b", "a/"}) {
    const Status added = staging.add_file(name, bytes_of("x"), false);
    ASSERT_FALSE(added.ok()) << name;
    EXPECT_EQ(added.error().code, Code::malformed) << name;
    EXPECT_THAT(added.error().message.text(), HasSubstr("expected a relative path")) << name;
  }
  EXPECT_FALSE(staging.add_directory("../x").ok());
}

TEST(StagingDirectory, RefusesAFileThatOccursTwice) {
  const TempDir dir;
  auto staging = StagingDirectory::beside(dir / "target").value();
  ASSERT_TRUE(staging.add_file("x", bytes_of("x"), false).ok());

  const Status again = staging.add_file("x", bytes_of("y"), false);

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message.text(), "file \"x\" occurs twice");
}

TEST(StagingDirectory, ReplacesNothing) {
  const TempDir dir;
  test::write_file(dir / "target", std::string_view("kept"));
  auto staging = StagingDirectory::beside(dir / "target").value();
  ASSERT_TRUE(staging.add_file("x", bytes_of("x"), false).ok());

  const Status moved = staging.move_to("", dir / "target");

  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code, Code::invalid);
  EXPECT_EQ(test::read_file(dir / "target").size(), 4u);
}

// NFS has no rename that refuses to replace.
struct StagingDirectoryOnPlainFileSystems : ::testing::Test {
  StagingDirectoryOnPlainFileSystems() { file_calls.has_no_replace_flag = true; }
  ~StagingDirectoryOnPlainFileSystems() override { file_calls = {}; }

  FileCalls& file_calls = test::file_calls;
  const TempDir dir;
};

TEST_F(StagingDirectoryOnPlainFileSystems, IsRenamed) {
  auto staging = StagingDirectory::beside(dir / "target").value();
  ASSERT_TRUE(staging.add_file("x", bytes_of("text"), false).ok());

  ASSERT_TRUE(staging.move_to("", dir / "target").ok());

  EXPECT_EQ(test::read_file(dir / "target/x").size(), 4u);
  EXPECT_EQ(mode_of(dir / "target"), 0755u);
  EXPECT_EQ(count_in(dir.path()), 1u);
}

TEST_F(StagingDirectoryOnPlainFileSystems, ReplacesNothing) {
  test::write_file(dir / "file", std::string_view("kept"));
  fs::create_directory(dir / "empty");
  for (const char* name : {"file", "empty"}) {
    auto staging = StagingDirectory::beside(dir / name).value();
    ASSERT_TRUE(staging.add_file("x", bytes_of("x"), false).ok());

    const Status moved = staging.move_to("", dir / name);

    ASSERT_FALSE(moved.ok()) << name;
    EXPECT_EQ(moved.error().message.text(), concat("\"", (dir / name).native(), "\" exists"));
  }
  EXPECT_EQ(test::read_file(dir / "file").size(), 4u);
  EXPECT_TRUE(fs::is_empty(dir / "empty"));
}

TEST_F(StagingDirectoryOnPlainFileSystems, LeavesNothingAfterAFailedRename) {
  file_calls.rename_fails = true;
  auto staging = StagingDirectory::beside(dir / "target").value();
  ASSERT_TRUE(staging.add_file("x", bytes_of("x"), false).ok());

  const Status moved = staging.move_to("", dir / "target");

  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().message.text(),
            concat("cannot write \"", (dir / "target").native(), "\": Input/output error"));
  EXPECT_FALSE(fs::exists(dir / "target"));
}

// A failure before the rename is an error, and nothing is renamed; one after it is none.
TEST(StagingDirectory, IsOnTheDiskBeforeItIsRenamed) {
  const TempDir dir;
  auto staging = StagingDirectory::beside(dir / "target").value();
  ASSERT_TRUE(staging.add_file("sub/x", bytes_of("x"), false).ok());
  test::file_calls = {.records = true, .fsync_fails = true};

  const Status failed = staging.move_to("", dir / "target");
  const bool was_renamed = fs::exists(dir / "target");
  test::file_calls = {.records = true, .fsync_fails_after_rename = true};
  const Status moved = staging.move_to("", dir / "target");
  const std::vector<std::string> calls = std::exchange(test::file_calls, {}).list;

  EXPECT_FALSE(failed.ok());
  EXPECT_FALSE(was_renamed);
  EXPECT_TRUE(moved.ok());
  EXPECT_EQ(test::read_file(dir / "target/sub/x").size(), 1u);
  EXPECT_THAT(calls, ElementsAre(concat("fsync ", staging.path().filename().native()), "fsync sub",
                                 "rename", concat("fsync ", dir.path().filename().native())));
}

TEST(StagingDirectory, LimitsTheNumberOfFiles) {
  const TempDir dir;
  StagingLimits limits;
  limits.files = 2;
  auto staging = StagingDirectory::beside(dir / "target", limits).value();
  ASSERT_TRUE(staging.add_directory("a").ok());
  ASSERT_TRUE(staging.add_file("b", {}, false).ok());

  const Status added = staging.add_directory("c");

  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().message.text(), "\"c\" is file 3, limit is 2");
}

TEST(StagingDirectory, LimitsTheBytesOfAllFiles) {
  const TempDir dir;
  StagingLimits limits;
  limits.bytes = 5;
  auto staging = StagingDirectory::beside(dir / "target", limits).value();
  const std::vector<std::uint8_t> bytes(3);
  ASSERT_TRUE(staging.add_file("a", bytes, false).ok());

  const Status added = staging.add_file("b", bytes, false);

  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().message.text(),
            "\"b\" has 3 bytes after 3 bytes of other files, limit is 5");
}

}  // namespace
}  // namespace gantry::cli
