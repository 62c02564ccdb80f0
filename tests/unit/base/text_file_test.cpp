// SPDX-License-Identifier: Apache-2.0
#include "core/base/text_file.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

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

TEST(StampedText, LastsIfItsFileIsOldEnough) {
  const test::TempDir dir;
  const std::string path = (dir / "a.yaml").string();
  test::write_file(path, std::string_view("a: 1\n"));
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);

  const auto fresh = read_stamped_text(path);
  const auto old = read_stamped_text(path, std::chrono::nanoseconds(0));

  EXPECT_EQ(fresh->text, "a: 1\n");
  EXPECT_EQ(fresh->stamp, stamp_of(about));
  EXPECT_FALSE(fresh->is_lasting);
  EXPECT_EQ(old->stamp, stamp_of(about));
  EXPECT_TRUE(old->is_lasting);
}

// Its group may be one of this process and not of the next one.
TEST(StampedText, LastsIfThisUserMayReadItWithoutAGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const test::TempDir dir;
  const std::string path = (dir / "a.yaml").string();
  test::write_file(path, std::string_view("a: 1\n"));
  ASSERT_EQ(chown(path.c_str(), 12345, 0), 0);
  const auto lasts = [&](mode_t mode) {
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return read_stamped_text(path, std::chrono::nanoseconds(0))->is_lasting;
  };

  EXPECT_TRUE(lasts(0644));
  EXPECT_FALSE(lasts(0640));
  EXPECT_FALSE(lasts(0604));
}

TEST(StampedText, HasTheErrorsOfATextFile) {
  const auto text = read_stamped_text("/nowhere/a.yaml");

  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message, read_text_file("/nowhere/a.yaml").error().message);
}

// The later one of both times counts, and a time in the future is not settled.
TEST(FileStamp, IsSettledIfNoTickCanHaveItsTimesAgain) {
  const auto settled = [](std::int64_t modified, std::int64_t changed) {
    return is_settled({1, 2, 3, modified, changed}, 100, std::chrono::nanoseconds(10));
  };

  EXPECT_TRUE(settled(89, 89));
  EXPECT_FALSE(settled(90, 89));
  EXPECT_FALSE(settled(89, 90));
  EXPECT_FALSE(settled(200, 1));
}

}  // namespace
}  // namespace gantry
