// SPDX-License-Identifier: Apache-2.0
#include "core/writing/pieces.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace gantry {
namespace {

using test::bytes_of;
using test::TempDir;
using test::Words;
using ::testing::ElementsAreArray;

std::shared_ptr<const MappedFile> mapped(const std::filesystem::path& path) {
  return MappedFile::open(path).value();
}

TEST(Pieces, HasTheWireFormOfTheSerializer) {
  Pieces pieces;
  pieces.Write<std::uint64_t>(7);
  pieces.Write(std::vector<std::string>{"a", ""});
  pieces.Write(std::vector<std::uint64_t>{1, 2});
  pieces.write_text("lib");

  const Words expected = Words().u64(7).strs({"a", ""}).u64s({1, 2}).str("lib");
  EXPECT_THAT(bytes_of(pieces), ElementsAreArray(expected.bytes()));
}

TEST(Pieces, KeepsMemoryFilesAndMadeBytesInOrder) {
  const TempDir directory;
  test::write_file(directory / "f", "0123456789");
  Pieces pieces;
  pieces.write_text("");
  pieces.append(FileRange{mapped(directory / "f"), 2, 3});
  pieces.append(MadeBytes{2, [] { return Result(std::vector<std::uint8_t>{'x', 'y'}); }});
  pieces.Write("!", 1);

  EXPECT_EQ(pieces.size(), 14u);
  EXPECT_THAT(bytes_of(pieces), ElementsAreArray(Words().u64(0).text("234xy!").bytes()));
}

TEST(Pieces, KeepsNoBytesOfAFileInMemory) {
  const TempDir directory;
  test::write_file(directory / "f", std::string(3'000'000, 'f'));
  Pieces pieces;
  pieces.Write<std::uint64_t>(1);
  pieces.append(FileRange{mapped(directory / "f"), 1, 2'999'999});

  EXPECT_EQ(pieces.memory_bytes(), 8u);
  EXPECT_EQ(bytes_of(pieces).size(), 3'000'007u);
}

TEST(Pieces, CountsItsOffsetFromTheBase) {
  Pieces inner(8);
  inner.write_text("abc");
  EXPECT_EQ(inner.offset(), 19u);
  Pieces outer;
  outer.append(std::move(inner));
  EXPECT_EQ(outer.offset(), 11u);
}

TEST(Pieces, ReportsTheOffsetWhereAFileEnds) {
  const TempDir directory;
  const std::string path = (directory / "f").native();
  test::write_file(path, "0123");
  Pieces pieces;
  pieces.append(FileRange{mapped(path), 2, 5});
  std::string out;
  dmlc::MemoryStringStream stream(&out);
  // of an earlier call
  errno = EINTR;

  const Status written = pieces.write_to(stream);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::malformed);
  EXPECT_EQ(written.error().offset, 4u);
  EXPECT_EQ(written.error().message, path + ": ends at 4, needs 7 bytes");
}

// No file has a negative offset.
TEST(Pieces, ReportsAFileThatCannotBeRead) {
  const TempDir directory;
  const std::string path = (directory / "f").native();
  test::write_file(path, "0123");
  Pieces pieces;
  pieces.append(FileRange{mapped(path), std::uint64_t{1} << 63, 1});
  std::string out;
  dmlc::MemoryStringStream stream(&out);

  const Status written = pieces.write_to(stream);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::unavailable);
  EXPECT_EQ(written.error().native_code, EINVAL);
  EXPECT_EQ(written.error().message, path + ": Invalid argument while reading");
}

TEST(Pieces, RejectsGeneratedBytesOfAnotherSize) {
  Pieces pieces;
  pieces.append(MadeBytes{3, [] { return Result(std::vector<std::uint8_t>{1}); }});
  std::string out;
  dmlc::MemoryStringStream stream(&out);

  const Status written = pieces.write_to(stream);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::malformed);
  EXPECT_EQ(written.error().offset, 0u);
  EXPECT_EQ(written.error().message, "generated piece has 1 bytes, expected 3");
}

TEST(Pieces, RejectsStreamedBytesOfAnotherSize) {
  Pieces pieces;
  pieces.append(StreamedBytes{3, [](dmlc::Stream& out) -> Status {
                                out.Write("ab", 2);
                                return {};
                              }});
  std::string out;
  dmlc::MemoryStringStream stream(&out);

  const Status written = pieces.write_to(stream);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::malformed);
  EXPECT_EQ(written.error().message, "generated piece has 2 bytes, expected 3");
}

TEST(Pieces, ReportsTheErrorOfTheGenerator) {
  Pieces pieces;
  pieces.append(
      MadeBytes{3, []() -> Result<std::vector<std::uint8_t>> { return not_found("gone"); }});
  std::string out;
  dmlc::MemoryStringStream stream(&out);

  const Status written = pieces.write_to(stream);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "gone");
}

TEST(DescriptorStream, WritesThrough) {
  const TempDir directory;
  const int descriptor = ::open((directory / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  DescriptorStream stream(descriptor, "out");
  stream.Write("abc", 3);
  ::close(descriptor);

  EXPECT_TRUE(stream.status().ok());
  EXPECT_THAT(test::read_file(directory / "out"), ElementsAreArray({'a', 'b', 'c'}));
}

// The first signal ends a write that has filled the pipe, the others a write of no bytes.
TEST(DescriptorStream, ContinuesAWriteThatASignalInterrupts) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::string text;
  while (text.size() < 200'000) text += concat(text.size(), " ");
  std::thread writer([&] {
    DescriptorStream stream(ends[1], "pipe");
    stream.Write(text.data(), text.size());
    EXPECT_TRUE(stream.status().ok());
    ::close(ends[1]);
  });

  const int capacity = fcntl(ends[0], F_GETPIPE_SZ);
  for (int bytes = 0; bytes < capacity;) ASSERT_EQ(ioctl(ends[0], FIONREAD, &bytes), 0);
  for (int i = 0; i < 10; ++i) {
    pthread_kill(writer.native_handle(), SIGUSR1);
    ::usleep(1000);
  }
  std::string received;
  char chunk[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], chunk, sizeof chunk)) > 0;) {
    received.append(chunk, static_cast<std::size_t>(got));
  }
  writer.join();
  ::close(ends[0]);
  sigaction(SIGUSR1, &before, nullptr);

  EXPECT_TRUE(received == text);
}

TEST(DescriptorStream, KeepsTheFirstFailure) {
  const int descriptor = ::open("/dev/full", O_WRONLY);
  DescriptorStream stream(descriptor, "the disk");
  stream.Write("abc", 3);
  ::close(descriptor);
  // fails with EBADF, which must not replace the first error
  stream.Write("abc", 3);

  ASSERT_FALSE(stream.status().ok());
  EXPECT_EQ(stream.status().error().code, Code::unavailable);
  EXPECT_EQ(stream.status().error().native_code, ENOSPC);
  EXPECT_EQ(stream.status().error().message, "the disk: No space left on device while writing");
}

TEST(NewFile, ReplacesNoFile) {
  const test::TempDir directory;
  Pieces pieces;
  pieces.Write("text", 4);

  ASSERT_TRUE(write_new_file(directory / "a", pieces).ok());
  const Status again = write_new_file(directory / "a", pieces);
  const Status nowhere = write_new_file(directory / "none" / "a", pieces);

  EXPECT_EQ(test::read_file(directory / "a").size(), 4u);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::unavailable);
  EXPECT_EQ(again.error().message, (directory / "a").native() + ": File exists while creating it");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, Code::unavailable);
}

}  // namespace
}  // namespace gantry
