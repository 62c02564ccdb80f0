// SPDX-License-Identifier: Apache-2.0
#include "core/base/text_file.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>

namespace gantry {
namespace {

TEST(TextFile, IsReadCompletely) {
  const test::TempDir dir;
  test::write_file(dir / "a.yaml", std::string_view("a: 1\n"));
  std::filesystem::create_symlink("a.yaml", dir / "b.yaml");
  // of an earlier call
  errno = EINTR;

  EXPECT_EQ(read_text_file((dir / "a.yaml").string()).value(), "a: 1\n");
  EXPECT_EQ(read_text_file((dir / "b.yaml").string()).value(), "a: 1\n");
}

TEST(TextFile, IsRejectedOverTheLimit) {
  const test::TempDir dir;
  const std::string path = (dir / "a.yaml").string();
  test::write_file(path, std::string_view("123456"));

  EXPECT_TRUE(read_text_file(path, 6).ok());
  const Result<std::string> text = read_text_file(path, 5);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::malformed);
  EXPECT_EQ(text.error().reason, "YAML_TOO_LARGE");
  EXPECT_EQ(text.error().message, path + ": more than 5 bytes");
}

// A plain open() of the FIFO would block.
TEST(TextFile, IsRejectedUnlessRegular) {
  const test::TempDir dir;
  const std::string fifo = (dir / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);

  for (const std::string& path : {fifo, dir.path().string()}) {
    const Result<std::string> text = read_text_file(path);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, Code::malformed);
    EXPECT_EQ(text.error().reason, "NOT_A_FILE");
    EXPECT_EQ(text.error().message, path + ": not a regular file");
  }
}

TEST(TextFile, ReportsErrnoIfMissing) {
  const Result<std::string> text = read_text_file("/nowhere/a.yaml");

  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::not_found);
  EXPECT_EQ(text.error().native_domain, "errno");
  EXPECT_EQ(text.error().message, "/nowhere/a.yaml: No such file or directory");
  const test::TempDir dir;
  test::write_file(dir / "file", std::string_view("a: 1\n"));
  EXPECT_EQ(read_text_file((dir / "file/a.yaml").string()).error().code, Code::not_found);
}

// The size of a file in /proc is 0.
TEST(TextFile, IsReadBeyondItsSize) {
  const Result<std::string> text = read_text_file("/proc/self/status");

  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_TRUE(text->starts_with("Name:"));
  EXPECT_TRUE(text->ends_with("\n"));
  EXPECT_EQ(text->find('\0'), std::string::npos);
  EXPECT_EQ(read_text_file("/proc/self/status", text->size() / 2).error().reason, "YAML_TOO_LARGE");
  // The buffer grows to this size.
  EXPECT_EQ(read_text_file("/proc/self/status", 512).error().reason, "YAML_TOO_LARGE");
}

}  // namespace
}  // namespace gantry
