// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/output_directory.hpp"

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
std::ptrdiff_t entries(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
}

TEST(OutputDirectory, IsCreatedIfItDoesNotExist) {
  const TempDir temp;

  const auto directory = OutputDirectory::create(temp / "out", {});

  ASSERT_TRUE(directory.ok()) << directory.error().message;
  EXPECT_TRUE(directory.value().write("x.bin", abc).ok());
  EXPECT_EQ(text_in(temp / "out/x.bin"), "abc");
  EXPECT_EQ(entries(temp / "out"), 1);
}

TEST(OutputDirectory, DoesNotCreateParents) {
  const TempDir temp;

  const auto directory = OutputDirectory::create(temp / "a/b", {});

  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code, Code::not_found);
  EXPECT_EQ(directory.error().message,
            concat("cannot create the directory ", quoted((temp / "a/b").string()),
                   ": No such file or directory"));
}

TEST(OutputDirectory, RejectsAFile) {
  const TempDir temp;
  test::write_file(temp / "out", "x");

  const auto directory = OutputDirectory::create(temp / "out", {});

  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code, Code::invalid);
  EXPECT_EQ(directory.error().message, quoted((temp / "out").string()) + " is not a directory");
}

TEST(OutputDirectory, RejectsALinkToADirectory) {
  const TempDir temp;
  fs::create_directory(temp / "real");
  fs::create_symlink("real", temp / "out");

  const auto directory = OutputDirectory::create(temp / "out", {});

  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().message,
            quoted((temp / "out").string()) + " is a symbolic link, expected a directory");
}

TEST(OutputDirectory, DoesNotWriteThroughALink) {
  const TempDir temp;
  test::write_file(temp / "victim", "precious");
  auto directory = OutputDirectory::create(temp / "out", {});
  fs::create_symlink("../victim", temp / "out/0-x.bin");

  const Status status = directory.value().write("0-x.bin", abc);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::invalid);
  EXPECT_EQ(status.error().message,
            quoted((temp / "out/0-x.bin").string()) + " exists and is not a regular file");
  EXPECT_EQ(text_in(temp / "victim"), "precious");
}

TEST(OutputDirectory, ReplacesAFileAndKeepsItsOtherHardLinks) {
  const TempDir temp;
  auto directory = OutputDirectory::create(temp / "out", {});
  test::write_file(temp / "other", "old");
  fs::create_hard_link(temp / "other", temp / "out/x.bin");

  ASSERT_TRUE(directory.value().write("x.bin", abc).ok());

  EXPECT_EQ(text_in(temp / "out/x.bin"), "abc");
  EXPECT_EQ(text_in(temp / "other"), "old");
}

TEST(OutputDirectory, WritesToTheOpenDirectoryAfterARename) {
  const TempDir temp;
  auto directory = OutputDirectory::create(temp / "out", {});
  fs::rename(temp / "out", temp / "moved");
  fs::create_directory(temp / "elsewhere");
  fs::create_symlink("elsewhere", temp / "out");

  ASSERT_TRUE(directory.value().write("x.bin", abc).ok());

  EXPECT_EQ(text_in(temp / "moved/x.bin"), "abc");
  EXPECT_EQ(entries(temp / "elsewhere"), 0);
}

TEST(OutputDirectory, LeavesNoTemporaryFileAfterAFailure) {
  const TempDir temp;
  auto directory = OutputDirectory::create(temp / "out", {});

  EXPECT_FALSE(directory.value().write(std::string(300, 'n'), abc).ok());

  EXPECT_EQ(entries(temp / "out"), 0);
}

TEST(OutputDirectory, KeepsAnInput) {
  const TempDir temp;
  fs::create_directory(temp / "out");
  test::write_file(temp / "out/0-x.bin", "input");
  InputFiles inputs;
  inputs.add(temp / "out/0-x.bin");
  auto directory = OutputDirectory::create(temp / "out", inputs);

  const Status status = directory.value().write("0-x.bin", abc);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "OUTPUT_IS_INPUT");
  EXPECT_EQ(text_in(temp / "out/0-x.bin"), "input");
}

}  // namespace
}  // namespace gantry::cli
