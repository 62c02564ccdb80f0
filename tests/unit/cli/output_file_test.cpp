// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/output_file.hpp"

#include "tests/support/files.hpp"

#include <gantry/quoted.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace gantry::cli {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

constexpr std::uint8_t abc[] = {'a', 'b', 'c'};

std::string text_in(const fs::path& path) {
  const auto bytes = test::read_file(path);
  return {bytes.begin(), bytes.end()};
}
std::ptrdiff_t entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(OutputFolder, IsCreatedWhereNothingIs) {
  const TempDir temp;

  const auto folder = OutputFolder::create(temp / "out");

  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_TRUE(folder.value().write("x.bin", abc).ok());
  EXPECT_EQ(text_in(temp / "out/x.bin"), "abc");
  EXPECT_EQ(entries(temp / "out"), 1);
}

TEST(OutputFolder, CreatesNoParents) {
  const TempDir temp;

  const auto folder = OutputFolder::create(temp / "a/b");

  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, Code::not_found);
  EXPECT_EQ(folder.error().message,
            concat("cannot create the folder ", quoted((temp / "a/b").string()),
                   ": No such file or directory"));
}

TEST(OutputFolder, RefusesAFile) {
  const TempDir temp;
  test::write_file(temp / "out", "x");

  const auto folder = OutputFolder::create(temp / "out");

  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, Code::invalid);
  EXPECT_EQ(folder.error().message, quoted((temp / "out").string()) + " is no folder");
}

TEST(OutputFolder, RefusesALinkToAFolder) {
  const TempDir temp;
  fs::create_directory(temp / "real");
  fs::create_symlink("real", temp / "out");

  const auto folder = OutputFolder::create(temp / "out");

  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message,
            quoted((temp / "out").string()) + " is a symbolic link, expected a folder");
}

TEST(OutputFolder, WritesThroughNoLink) {
  const TempDir temp;
  test::write_file(temp / "victim", "precious");
  auto folder = OutputFolder::create(temp / "out");
  fs::create_symlink("../victim", temp / "out/0-x.bin");

  const Status status = folder.value().write("0-x.bin", abc);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::invalid);
  EXPECT_EQ(status.error().message,
            quoted((temp / "out/0-x.bin").string()) + " is there and is no regular file");
  EXPECT_EQ(text_in(temp / "victim"), "precious");
}

TEST(OutputFolder, ReplacesAnOlderFileButNotItsOtherNames) {
  const TempDir temp;
  auto folder = OutputFolder::create(temp / "out");
  test::write_file(temp / "other", "old");
  fs::create_hard_link(temp / "other", temp / "out/x.bin");

  ASSERT_TRUE(folder.value().write("x.bin", abc).ok());

  EXPECT_EQ(text_in(temp / "out/x.bin"), "abc");
  EXPECT_EQ(text_in(temp / "other"), "old");
}

TEST(OutputFolder, StaysWithTheFolderThatItOpened) {
  const TempDir temp;
  auto folder = OutputFolder::create(temp / "out");
  fs::rename(temp / "out", temp / "moved");
  fs::create_directory(temp / "elsewhere");
  fs::create_symlink("elsewhere", temp / "out");

  ASSERT_TRUE(folder.value().write("x.bin", abc).ok());

  EXPECT_EQ(text_in(temp / "moved/x.bin"), "abc");
  EXPECT_EQ(entries(temp / "elsewhere"), 0);
}

TEST(OutputFolder, LeavesNothingBehindWhenTheNameCannotBeTaken) {
  const TempDir temp;
  auto folder = OutputFolder::create(temp / "out");

  EXPECT_FALSE(folder.value().write(std::string(300, 'n'), abc).ok());

  EXPECT_EQ(entries(temp / "out"), 0);
}

TEST(WriteOutput, ReachesAFolderThroughLinks) {
  const TempDir temp;
  fs::create_directory(temp / "real");
  fs::create_symlink("real", temp / "link");

  ASSERT_TRUE(write_output(temp / "link/trace.json", "[]").ok());

  EXPECT_EQ(text_in(temp / "real/trace.json"), "[]");
}

TEST(WriteOutput, NamesTheFolderThatIsMissing) {
  const TempDir temp;

  const Status status = write_output(temp / "no/trace.json", "[]");

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            concat("cannot open the folder ", quoted((temp / "no").string()),
                   ": No such file or directory"));
}

}  // namespace
}  // namespace gantry::cli
