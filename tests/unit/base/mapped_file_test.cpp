// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.hpp"

#include "core/base/sealed_memory.hpp"
#include "tests/support/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MappedFile, IsIdentifiedByDeviceAndInode) {
  const test::TempDir directory;
  test::write_file(directory / "a", std::string_view("abc"));
  struct stat info {};
  ASSERT_EQ(stat((directory / "a").c_str(), &info), 0);

  const FileIdentity found = MappedFile::open(directory / "a").value()->identity();

  EXPECT_EQ(found.device, info.st_dev);
  EXPECT_EQ(found.inode, info.st_ino);
  EXPECT_NE(found, (FileIdentity{found.device + 1, found.inode}));
  EXPECT_NE(found, (FileIdentity{found.device, found.inode + 1}));
}

TEST(MappedFile, MapsTheBytesOfARegularFile) {
  const test::TempDir directory;
  test::write_file(directory / "a", std::string_view("abc"));

  const auto file = MappedFile::open(directory / "a");

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT((*file)->bytes(), ElementsAre('a', 'b', 'c'));
}

TEST(MappedFile, HasTheSameIdentityThroughALink) {
  const test::TempDir directory;
  test::write_file(directory / "a", std::string_view("abc"));
  test::write_file(directory / "copy", std::string_view("abc"));
  std::filesystem::create_symlink(directory / "a", directory / "link");

  const auto file = MappedFile::open(directory / "a");
  const auto link = MappedFile::open(directory / "link");
  const auto copy = MappedFile::open(directory / "copy");

  ASSERT_TRUE(file.ok() && link.ok() && copy.ok());
  EXPECT_EQ((*file)->identity(), (*link)->identity());
  EXPECT_NE((*file)->identity(), (*copy)->identity());
}

TEST(MappedFile, ReportsAMissingRelativePath) {
  for (const char* path : {"missing", "missing/file"}) {
    EXPECT_EQ(MappedFile::open(path).error().message, concat(path, " does not exist"));
  }
}

TEST(MappedFile, StaysReadableAfterTheFileIsRemoved) {
  const test::TempDir directory;
  test::write_file(directory / "a", std::string_view("abc"));

  const auto file = MappedFile::open(directory / "a");
  std::filesystem::remove(directory / "a");

  ASSERT_TRUE(file.ok());
  EXPECT_THAT((*file)->bytes(), ElementsAre('a', 'b', 'c'));
}

TEST(MappedFile, OpensItsDescriptorWithCloseOnExec) {
  const test::TempDir directory;
  test::write_file(directory / "a", std::string_view("abc"));

  const auto file = MappedFile::open(directory / "a");

  ASSERT_TRUE(file.ok());
  EXPECT_NE(fcntl((*file)->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(MappedFile, RejectsAnEmptyFile) {
  const test::TempDir directory;
  test::write_file(directory / "a.so", std::string_view());

  const auto file = MappedFile::open(directory / "a.so");

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::malformed);
  EXPECT_EQ(file.error().offset, 0u);
  EXPECT_EQ(file.error().reason, "FILE_EMPTY");
  EXPECT_EQ(file.error().message, (directory / "a.so").string() + " is empty");
}

// Paths that are not regular files. A plain open() of a FIFO without a writer would block.
struct Kind {
  std::string name;
  void (*make)(const std::filesystem::path&);
  std::string text;
};

class MappedFileKind : public ::testing::TestWithParam<Kind> {};

TEST_P(MappedFileKind, IsRejectedUnlessRegular) {
  const test::TempDir directory;
  const auto path = directory / "thing.so";
  GetParam().make(path);

  const auto file = MappedFile::open(path);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::malformed);
  EXPECT_EQ(file.error().reason, "FILE_KIND");
  EXPECT_EQ(file.error().message, path.string() + GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, MappedFileKind,
    ::testing::Values(
        Kind{"Directory", [](const auto& path) { std::filesystem::create_directory(path); },
             " is a directory, not a regular file"},
        Kind{"Fifo", [](const auto& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); },
             " is a FIFO, not a regular file"},
        Kind{"Device", [](const auto& path) { std::filesystem::create_symlink("/dev/null", path); },
             " is a character device, not a regular file"},
        Kind{"Socket",
             [](const auto& path) {
               const int at = socket(AF_UNIX, SOCK_STREAM, 0);
               sockaddr_un name{};
               name.sun_family = AF_UNIX;
               std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
               ASSERT_EQ(bind(at, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
               close(at);
             },
             " is a socket, not a regular file"}),
    [](const auto& test) { return test.param.name; });

TEST(MappedFile, IsACopyOfBytesThatNobodyCanChange) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3};

  const auto file = MappedFile::copy("model.so", bytes).value();
  const auto other = MappedFile::copy("model.so", bytes).value();

  EXPECT_TRUE(std::equal(file->bytes().begin(), file->bytes().end(), bytes.begin(), bytes.end()));
  EXPECT_EQ(file->path(), "model.so");
  EXPECT_NE(file->identity(), other->identity());
  EXPECT_EQ(::pwrite(file->descriptor(), "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(file->descriptor(), 1), -1);
}

TEST(MappedFile, IsNoCopyOfNothing) {
  const auto file = MappedFile::copy("model.so", {});

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().reason, "FILE_EMPTY");
  EXPECT_EQ(file.error().message, "model.so is empty");
}

TEST(MappedFile, IsAPartOfAnotherThatStaysMapped) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4};
  std::shared_ptr<const MappedFile> part;
  {
    const auto whole = MappedFile::copy("model.tar", bytes).value();
    part = MappedFile::part_of(whole, "model.tar/model.so", whole->bytes().subspan(1, 2)).value();
    EXPECT_EQ(part->bytes().data(), whole->bytes().data() + 1);
  }

  EXPECT_TRUE(std::ranges::equal(part->bytes(), std::span(bytes).subspan(1, 2)));
  EXPECT_EQ(part->path(), "model.tar/model.so");
  EXPECT_LT(part->descriptor(), 0);
  const auto none = MappedFile::part_of(part, "none", {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().reason, "FILE_EMPTY");
  EXPECT_EQ(none.error().message, "none is empty");
}

TEST(SealedMemory, HasZerosInAHoleThatTakesNoMemory) {
  std::vector<std::uint8_t> bytes(8 * 4096 + 5, 7);
  for (const FileHole hole : {FileHole{4096, 6 * 4096}, FileHole{0, 4096}, FileHole{8 * 4096, 5}}) {
    const Descriptor file = sealed_memory("holes", bytes, hole).value();

    struct stat info {};
    ASSERT_EQ(::fstat(file.get(), &info), 0);
    EXPECT_EQ(info.st_size, static_cast<off_t>(bytes.size()));
    EXPECT_LE(info.st_blocks * 512, static_cast<off_t>((9 - hole.size / 4096) * 4096));
    std::vector<std::uint8_t> read(bytes.size());
    ASSERT_EQ(::pread(file.get(), read.data(), read.size(), 0), info.st_size);
    for (std::size_t i = 0; i < read.size(); ++i)
      ASSERT_EQ(read[i], i >= hole.at && i - hole.at < hole.size ? 0 : 7) << i;
  }
}

// Offsets and sizes around the boundaries of pages.
TEST(MappedFile, JoinsItsBytesWithOthers) {
  const test::TempDir directory;
  std::vector<std::uint8_t> content(3 * 4096 + 100);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::uint8_t>(i * 7);
  for (const std::size_t size : {100u, 4096u, 2 * 4096u, 3 * 4096u + 100u}) {
    // The part may end before the file does.
    test::write_file(directory / "a", std::span(content).first(size == 4096 ? 5000 : size));
    const auto file = MappedFile::open(directory / "a").value();
    for (const std::size_t at : {0u, 1u, 99u, 100u, 4095u, 4096u, 4097u}) {
      if (at > size) continue;
      for (const std::size_t head : {0u, 1u, 5000u}) {
        const std::vector<std::uint8_t> before(head, 1), after(3, 2);
        std::vector<std::uint8_t> expected = before;
        expected.insert(expected.end(), content.begin() + static_cast<std::ptrdiff_t>(at),
                        content.begin() + static_cast<std::ptrdiff_t>(size));
        expected.insert(expected.end(), after.begin(), after.end());

        const auto joined =
            MappedFile::joined("b", before, *file, file->bytes().subspan(at, size - at), after)
                .value();

        EXPECT_TRUE(std::ranges::equal(joined->bytes(), expected))
            << size << " bytes from " << at << " after " << head;
      }
    }
  }
}

TEST(MappedFile, KeepsThePagesOfAJoinedFile) {
  const test::TempDir directory;
  test::write_file(directory / "a", std::vector<std::uint8_t>(64 * 4096, 1));
  const auto file = MappedFile::open(directory / "a").value();
  const std::vector<std::uint8_t> before(10, 2);

  const auto joined =
      MappedFile::joined("b", before, *file, file->bytes().subspan(100), before).value();

  // A page of the file: what is written to the file is seen.
  const int writable = ::open((directory / "a").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::pwrite(writable, "x", 1, 8 * 4096), 1);
  ::close(writable);
  EXPECT_EQ(joined->bytes()[10 + 8 * 4096 - 100], 'x');
}

TEST(MappedFile, ReportsTheExistingPartOfAMissingPath) {
  const test::TempDir directory;

  const auto file = MappedFile::open(directory / "no/such/file.so");

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::not_found);
  EXPECT_EQ(file.error().native_code, ENOENT);
  EXPECT_EQ(file.error().message, (directory / "no/such/file.so").string() +
                                      " does not exist: the path exists up to " +
                                      directory.path().string());
}

TEST(MappedFile, ReportsAMissingFileInAnExistingDirectory) {
  const test::TempDir directory;

  const auto file = MappedFile::open(directory / "file.so");

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message, (directory / "file.so").string() + " does not exist");
}

TEST(MappedFile, ReportsADanglingLink) {
  const test::TempDir directory;
  std::filesystem::create_symlink("nowhere", directory / "link.so");

  const auto file = MappedFile::open(directory / "link.so");

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::not_found);
  EXPECT_EQ(file.error().message,
            (directory / "link.so").string() + " is a dangling symbolic link");
}

TEST(MappedFile, RejectsALinkToItself) {
  const test::TempDir directory;
  std::filesystem::create_symlink("link.so", directory / "link.so");

  const auto file = MappedFile::open(directory / "link.so");

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::invalid);
  EXPECT_EQ(file.error().native_code, ELOOP);
}

TEST(MappedFile, RejectsAPathWithANul) {
  const auto file = MappedFile::open(std::string("a\0b", 3));

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::invalid);
  EXPECT_EQ(file.error().message, "path of 3 bytes contains a NUL");
}

// A sysfs file is regular and has a size, but cannot be mapped.
TEST(MappedFile, ReportsAFileThatCannotBeMapped) {
  const std::filesystem::path path = "/sys/devices/system/cpu/online";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "sysfs is not mounted";

  const auto file = MappedFile::open(path);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::unavailable);
  EXPECT_EQ(file.error().native_code, ENODEV);
  EXPECT_EQ(file.error().native_domain, "errno");
  EXPECT_EQ(file.error().message, path.string() + " cannot be mapped: No such device");
}

TEST(MappedFile, ReportsAFileLargerThanTheAddressSpace) {
  const int descriptor = memfd_create("large", MFD_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(ftruncate(descriptor, off_t{1} << 62), 0);
  const std::string path = concat("/proc/self/fd/", descriptor);

  const auto file = MappedFile::open(path);
  close(descriptor);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::exhausted);
  EXPECT_EQ(file.error().native_code, ENOMEM);
  EXPECT_EQ(file.error().message, path + " cannot be mapped: Cannot allocate memory");
}

TEST(MappedFile, ReportsMissingPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root can read every file";
  const test::TempDir directory;
  test::write_file(directory / "a.so", std::string_view("abc"));
  std::filesystem::permissions(directory / "a.so", std::filesystem::perms::none);

  const auto file = MappedFile::open(directory / "a.so");

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::unavailable);
  EXPECT_THAT(file.error().message, HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace gantry
