// SPDX-License-Identifier: Apache-2.0
//
// A process whose standard input is closed gets the descriptor 0 for the next file that it opens.
#include "core/base/mapped_file.hpp"
#include "core/base/output_file.hpp"
#include "core/base/replace_file.hpp"
#include "core/base/temp_directory.hpp"
#include "core/base/text_file.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

namespace gantry {
namespace {

class LowestDescriptor : public ::testing::Test {
 protected:
  LowestDescriptor() {
    test::write_file(directory / "file", "text");
    ::close(STDIN_FILENO);
  }
  ~LowestDescriptor() override {
    EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1) << "the file is not closed";
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }

  const test::TempDir directory;

 private:
  const int saved_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
};

TEST_F(LowestDescriptor, CanBeAMappedFile) {
  const auto file = MappedFile::open(directory / "file");

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ((*file)->descriptor(), 0);
}

TEST_F(LowestDescriptor, CanBeATextFile) {
  EXPECT_EQ(read_text_file((directory / "file").native()).value(), "text");
}

TEST_F(LowestDescriptor, CanBeAnAtomicFile) {
  auto file = AtomicFile::beside(directory / "new", {});

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(::fileno(file->stream()), 0);
  EXPECT_TRUE(file->commit().ok());
}

TEST_F(LowestDescriptor, CanBeAStream) {
  const auto file = OutputFile::open("/dev/null", {});

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(::fileno(file->stream()), 0);
}

TEST_F(LowestDescriptor, CanBeTheFileThatIsMoved) {
  const Status moved = move_into_place(directory / "file", directory / "new", {});

  EXPECT_TRUE(moved.ok());
}

TEST_F(LowestDescriptor, CanBeATemporaryDirectory) {
  std::filesystem::path path;
  {
    const auto made = TempDirectory::beside(directory / "new");
    ASSERT_TRUE(made.ok()) << made.error().message;
    path = made->path();
    test::write_file(path / "inside", "x");
  }

  EXPECT_FALSE(std::filesystem::exists(path));
}

// A plugin may have closed it. What is printed then must not be written into a file.
TEST(StandardOutput, IsNoAtomicFile) {
  const test::TempDir directory;
  std::fflush(stdout);
  const int saved = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::close(STDOUT_FILENO);

  auto file = AtomicFile::beside(directory / "new", {});
  const int descriptor = file.ok() ? ::fileno(file->stream()) : -1;
  const int in_its_place = ::fcntl(STDOUT_FILENO, F_GETFD);
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_GT(descriptor, STDERR_FILENO);
  EXPECT_EQ(in_its_place, -1);
  EXPECT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::exists(directory / "new"));
}

}  // namespace
}  // namespace gantry
