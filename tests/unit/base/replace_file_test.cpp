// SPDX-License-Identifier: Apache-2.0
#include "core/base/replace_file.hpp"
#include "core/base/atomic_file.hpp"

#include "tests/support/file_calls.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MoveIntoPlace, ReplacesTheTarget) {
  const TempDir directory;
  test::write_file(directory / "new", "new");
  test::write_file(directory / "target", "old");

  ASSERT_TRUE(move_into_place(directory / "new", directory / "target", {}).ok());

  EXPECT_THAT(test::read_file(directory / "target"), ElementsAre('n', 'e', 'w'));
  EXPECT_FALSE(std::filesystem::exists(directory / "new"));
}

// The content is on the disk before the name is, and the name before the call returns.
TEST(MoveIntoPlace, WritesTheFileBeforeItsNameAndThenTheDirectory) {
  const TempDir directory;
  test::write_file(directory / "new", "new");
  test::file_calls = {.records = true};

  const Status moved = move_into_place(directory / "new", directory / "target", {});

  const std::vector<std::string> calls = std::exchange(test::file_calls, {}).list;
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  EXPECT_THAT(calls,
              ElementsAre("fsync new", "rename", "fsync " + directory.path().filename().native()));
}

TEST(MoveIntoPlace, KeepsTheTargetIfTheFileCannotBeWritten) {
  const TempDir directory;
  test::write_file(directory / "new", "new");
  test::write_file(directory / "target", "old");
  test::file_calls = {.records = true, .fsync_fails = true};

  const Status moved = move_into_place(directory / "new", directory / "target", {});

  const std::vector<std::string> calls = std::exchange(test::file_calls, {}).list;
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().native_code, EIO);
  EXPECT_THAT(calls, ElementsAre("fsync new"));
  EXPECT_THAT(test::read_file(directory / "target"), ElementsAre('o', 'l', 'd'));
}

TEST(AtomicFile, WritesItsContentBeforeItsName) {
  const TempDir directory;
  AtomicFile file = AtomicFile::beside(directory / "target", {}).value();
  std::fputs("content", file.stream());
  test::file_calls = {.records = true};

  const Status done = file.commit();

  const std::vector<std::string> calls = std::exchange(test::file_calls, {}).list;
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_THAT(calls[0], HasSubstr("fsync .target."));
  EXPECT_EQ(calls[1], "rename");
}

TEST(AtomicFile, ReportsAMissingDirectory) {
  const TempDir directory;

  const Result<AtomicFile> file = AtomicFile::beside(directory / "none" / "target", {});

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::not_found);
  EXPECT_EQ(file.error().native_code, ENOENT);
}

// The device is full while the content is written, or when it is flushed.
TEST(AtomicFile, KeepsTheTargetIfItsContentIsNotWritten) {
  for (const bool recovers : {false, true}) {
    const TempDir directory;
    test::write_file(directory / "target", "old");
    AtomicFile file = AtomicFile::beside(directory / "target", {}).value();
    const int descriptor = ::fileno(file.stream());
    const int saved = ::dup(descriptor);
    const int full = ::open("/dev/full", O_RDWR | O_CLOEXEC);
    ::dup2(full, descriptor);
    ::close(full);
    std::fputs("content", file.stream());
    if (recovers) {
      EXPECT_NE(std::fflush(file.stream()), 0);
      ::dup2(saved, descriptor);
    }
    ::close(saved);

    const Status done = file.commit();

    ASSERT_FALSE(done.ok()) << recovers;
    EXPECT_EQ(done.error().native_code, recovers ? EIO : ENOSPC);
    EXPECT_THAT(test::read_file(directory / "target"), ElementsAre('o', 'l', 'd'));
  }
}

TEST(AtomicFile, IsRemovedIfItIsNotCommitted) {
  const TempDir directory;
  {
    const AtomicFile file = AtomicFile::beside(directory / "target", {}).value();
    const AtomicFile second = AtomicFile::beside(directory / "target", {}).value();
  }

  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// The longest name that most file systems accept.
TEST(AtomicFile, CanHaveANameOf255Bytes) {
  const TempDir directory;
  const std::filesystem::path path = directory / std::string(255, 'n');

  Result<AtomicFile> file = AtomicFile::beside(path, {});

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(MoveIntoPlace, ReportsAMissingDirectory) {
  const TempDir directory;
  test::write_file(directory / "new", "new");

  const Status moved = move_into_place(directory / "new", directory / "none" / "target", {});

  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code, Code::not_found);
  EXPECT_THAT(moved.error().message, HasSubstr("No such file or directory"));
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return std::distance(begin(descriptors), end(descriptors));
}

TEST(AtomicFile, LeavesNoDescriptorOpen) {
  const TempDir directory;
  const auto before = open_descriptors();
  {
    const AtomicFile dropped = AtomicFile::beside(directory / "dropped", {}).value();
    AtomicFile committed = AtomicFile::beside(directory / "target", {}).value();
    ASSERT_TRUE(committed.commit().ok());
    EXPECT_EQ(open_descriptors(), before + 1);
  }

  EXPECT_EQ(open_descriptors(), before);
}

// A rename would silently replace these.
class IrregularTarget : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string kind = GetParam();
    if (kind == "Fifo") {
      ASSERT_EQ(mkfifo(target.c_str(), 0600), 0);
    } else if (kind == "Link") {
      std::filesystem::create_symlink("elsewhere", target);
    } else {
      std::filesystem::create_directory(target);
    }
  }
  void TearDown() override { EXPECT_EQ(std::filesystem::symlink_status(target).type(), before); }

  TempDir directory;
  const std::filesystem::path target = directory / "target";
  std::filesystem::file_type before = std::filesystem::file_type::none;
};

TEST_P(IrregularTarget, IsRejectedAndKept) {
  before = std::filesystem::symlink_status(target).type();
  test::write_file(directory / "new", "new");

  const Status moved = move_into_place(directory / "new", target, {});
  const Result<AtomicFile> made = AtomicFile::beside(target, {});

  const std::string text =
      "cannot write \"" + target.native() + "\": it exists and is not a regular file";
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code, Code::invalid);
  EXPECT_EQ(moved.error().message, text);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, text);
}

INSTANTIATE_TEST_SUITE_P(Kinds, IrregularTarget, ::testing::Values("Fifo", "Link", "Directory"),
                         [](const auto& test) { return std::string(test.param); });

TEST(CheckReplaceable, RejectsAPathWithoutAFileName) {
  const TempDir directory;

  const Status checked = check_replaceable(directory.path() / "", {});

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::invalid);
  EXPECT_THAT(checked.error().message, HasSubstr(" is not a file name"));
}

TEST(CannotWrite, IsNotFoundIfTheDirectoryIsMissing) {
  EXPECT_EQ(cannot_write("x", ENOENT).error().code, Code::not_found);
  EXPECT_EQ(cannot_write("x", ENOTDIR).error().code, Code::not_found);
  EXPECT_EQ(cannot_write("x", EACCES).error().code, Code::unavailable);
}

TEST(InputFiles, ContainRegularFilesOnly) {
  const test::TempDir directory;
  test::write_file(directory / "a", std::string_view("x"));
  InputFiles inputs, all;
  inputs.add("/dev/null");
  inputs.add(directory / "a");
  all.add(inputs);
  struct stat device {};
  struct stat file {};
  ASSERT_EQ(stat("/dev/null", &device), 0);
  ASSERT_EQ(stat((directory / "a").c_str(), &file), 0);

  EXPECT_TRUE(all.check_output("/dev/null", identity_of(device)).ok());
  const Status refused = all.check_output(directory / "a", identity_of(file));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(refused.error().reason, "OUTPUT_IS_INPUT");
}

}  // namespace
}  // namespace gantry
