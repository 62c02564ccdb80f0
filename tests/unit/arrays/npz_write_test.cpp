// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/npz_write.hpp"
#include "core/base/atomic_file.hpp"
#include "tests/support/array_value.hpp"
#include "tests/support/npz_file.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace gantry {
namespace {

using test::array_in;
using test::ArrayValue;
using test::TempDir;
using test::write_npz;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr gantry_dtype kByte = {1, 8, 1};
const std::vector<std::int64_t> kShape = {3, 1};
const std::vector<std::uint8_t> kData = {1, 2, 3};

NpzItem item(std::string_view name) { return {name, kByte, kShape, kData}; }

std::size_t files_in(const TempDir& directory) {
  const std::filesystem::directory_iterator all(directory.path());
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(NpzWrite, IsReadBack) {
  const TempDir directory;
  const std::uint8_t one[4] = {0, 0, 0x80, 0x3f};
  const NpzItem items[] = {item("a"), {"b", {2, 32, 1}, {}, one}};

  const Status written = write_npz(directory / "x.npz", items);

  ASSERT_TRUE(written.ok()) << written.error().message;
  const ArrayValue a = array_in(directory / "x.npz", "a"), b = array_in(directory / "x.npz", "b");
  EXPECT_THAT(a.header.shape, ElementsAreArray(kShape));
  EXPECT_THAT(a.data, ElementsAreArray(kData));
  EXPECT_EQ(dtype_text(b.header.dtype), "float32");
  EXPECT_THAT(b.data, ElementsAreArray(one));
}

TEST(NpzWrite, WritesTheSameBytesForTheSameArrays) {
  const TempDir directory;
  const NpzItem items[] = {item("a"), item("b")};

  ASSERT_TRUE(write_npz(directory / "1.npz", items).ok());
  ASSERT_TRUE(write_npz(directory / "2.npz", items).ok());

  const auto bytes = test::read_file(directory / "1.npz");
  EXPECT_EQ(bytes, test::read_file(directory / "2.npz"));
  EXPECT_THAT(std::span(bytes).subspan(10, 4), ElementsAre(0, 0, 0x21, 0)) << "1980-01-01 00:00";
}

// 65535 in the end record means that the zip64 end record has the number.
TEST(NpzWrite, CountsMoreMembersThanThePlainEndRecordCan) {
  const TempDir directory;
  std::vector<std::string> names;
  for (int i = 0; i < 65536; ++i) names.push_back(concat("n", i));
  std::vector<NpzItem> items;
  for (const std::string& name : names) items.push_back(item(name));

  ASSERT_TRUE(write_npz(directory / "x.npz", items).ok());

  const auto bytes = test::read_file(directory / "x.npz");
  const Result<ArrayFile> file = ArrayFile::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->names().size(), 65536u);
  EXPECT_EQ(file->names().back(), "n65535");
}

TEST(NpzWrite, MarksNamesBeyondAsciiAsUtf8) {
  const TempDir directory;
  const NpzItem items[] = {
      item("gr\xc3\xb6\xc3\x9f"
           "e")};

  ASSERT_TRUE(write_npz(directory / "x.npz", items).ok());

  const auto bytes = test::read_file(directory / "x.npz");
  EXPECT_EQ(bytes[7] & 8, 8);
  EXPECT_TRUE(test::read_array(bytes,
                               "gr\xc3\xb6\xc3\x9f"
                               "e")
                  .ok());
}

TEST(NpzWrite, ReplacesAFileAndLeavesNoTemporaryFile) {
  const TempDir directory;
  test::write_file(directory / "x.npz", "old");
  const NpzItem items[] = {item("a")};

  ASSERT_TRUE(write_npz(directory / "x.npz", items).ok());

  EXPECT_TRUE(ArrayFile::parse(test::read_file(directory / "x.npz")).ok());
  EXPECT_EQ(files_in(directory), 1u);
}

TEST(NpzWrite, KeepsTheOldFileIfItFails) {
  const TempDir directory;
  test::write_file(directory / "x.npz", "old");
  const NpzItem items[] = {item("a"), {"b", {4, 16, 1}, {}, std::span(kData).first(2)}};

  const Status written = write_npz(directory / "x.npz", items);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::unsupported);
  EXPECT_EQ(written.error().message,
            concat("npy files have no type for bfloat16\n  while writing \"",
                   (directory / "x.npz").native(), "\""));
  EXPECT_THAT(test::read_file(directory / "x.npz"), ElementsAre('o', 'l', 'd'));
  EXPECT_EQ(files_in(directory), 1u);
}

TEST(NpzWrite, ReportsTheReasonIfTheDiskIsFull) {
  const TempDir directory;
  const std::vector<std::uint8_t> data(1 << 20);
  const std::int64_t shape[] = {1 << 20};
  const NpzItem items[] = {{"a", kByte, shape, data}};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);

  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status written = write_npz(directory / "x.npz", items);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::unavailable);
  EXPECT_EQ(written.error().message,
            concat("cannot write \"", (directory / "x.npz").native(), "\": File too large"));
  EXPECT_EQ(files_in(directory), 0u);
}

TEST(NpzWrite, ReportsAMissingDirectory) {
  const TempDir directory;
  const NpzItem items[] = {item("a")};

  const Status written = write_npz(directory / "none/x.npz", items);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::not_found);
  EXPECT_EQ(written.error().message, concat("cannot write \"", (directory / "none/x.npz").native(),
                                            "\": No such file or directory"));
}

struct BadItem {
  const char* name;
  std::string item_name;
  std::vector<std::int64_t> shape;
  const char* message;
};

class NpzWriteRefuses : public ::testing::TestWithParam<BadItem> {};

// Beside a good item "a".
TEST_P(NpzWriteRefuses, ItemsThatCannotBeReadBack) {
  const TempDir directory;
  const NpzItem items[] = {item("a"), {GetParam().item_name, kByte, GetParam().shape, kData}};

  const Status written = write_npz(directory / "x.npz", items);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::invalid);
  EXPECT_EQ(written.error().message, GetParam().message);
  EXPECT_EQ(files_in(directory), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Items, NpzWriteRefuses,
    ::testing::Values(
        BadItem{"NoName", "", {3}, "npz name \"\" has 0 bytes, expected 1 to 1024 and no NUL"},
        BadItem{"Nul",
                std::string("b\0c", 3),
                {3},
                "npz name \"b\\x00c\" has 3 bytes, expected 1 to 1024 and no NUL"},
        BadItem{"LongName",
                std::string(1025, 'b'),
                {3},
                "npz name \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                "bbbbbbbbb...\" (1025 bytes) has 1025 bytes, expected 1 to 1024 and no NUL"},
        BadItem{"Twice", "a", {3}, "npz name \"a\" occurs twice"},
        BadItem{"Shape", "b", {-1}, "npz array \"b\": dimension 0 is -1, minimum is 0"},
        BadItem{"Size", "b", {4}, "npz array \"b\": data are 3 bytes, dtype and shape require 4"}),
    [](const auto& test) { return test.param.name; });

TEST(NpzWrite, RefusesNoArrays) {
  const TempDir directory;

  const Status written = write_npz(directory / "x.npz", {});

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::invalid);
  EXPECT_EQ(written.error().message, "npz of no arrays: not every reader takes an empty archive");
}

TEST(NpyWrite, IsReadBackWithoutItsName) {
  const TempDir directory;
  Result<OutputFile> file = OutputFile::open(directory / "x.npy", {});

  ASSERT_TRUE(file.ok() && write_npy(*file, item("a")).ok() && file->commit().ok());

  const ArrayValue x = array_in(directory / "x.npy", "");
  EXPECT_EQ(x.header.shape, kShape);
  EXPECT_EQ(x.data, kData);
}

TEST(NpyWrite, RefusesDataOfAnotherSize) {
  const TempDir directory;
  Result<OutputFile> file = OutputFile::open(directory / "x.npy", {});
  ASSERT_TRUE(file.ok());

  const Status written = write_npy(*file, {"a", kByte, kShape, std::span(kData).first(2)});

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::invalid);
}

TEST(NpyWrite, ReportsAFullDevice) {
  Result<OutputFile> file = OutputFile::open("/dev/full", {});
  ASSERT_TRUE(file.ok());
  std::setvbuf(file->stream(), nullptr, _IONBF, 0);

  const Status written = write_npy(*file, item("a"));

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "cannot write \"/dev/full\": No space left on device");
}

TEST(AtomicFile, IsRemovedUnlessItIsCommitted) {
  const TempDir directory;
  {
    Result<AtomicFile> file = AtomicFile::beside(directory / "x", {});
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(files_in(directory), 1u);
  }

  EXPECT_EQ(files_in(directory), 0u);
}

TEST(AtomicFile, HasThePermissionsThatUmaskLeaves) {
  const TempDir directory;
  const mode_t mask = umask(027);
  Result<AtomicFile> file = AtomicFile::beside(directory / "x", {});
  umask(mask);

  ASSERT_TRUE(file.ok() && file->commit().ok());

  struct stat info {};
  ASSERT_EQ(stat((directory / "x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicFile, TwoOfOnePathDoNotConflict) {
  const TempDir directory;
  Result<AtomicFile> first = AtomicFile::beside(directory / "x", {}),
                     second = AtomicFile::beside(directory / "x", {});
  ASSERT_TRUE(first.ok() && second.ok());
  std::fputs("first", first->stream());
  std::fputs("second", second->stream());

  ASSERT_TRUE(first->commit().ok());
  ASSERT_TRUE(second->commit().ok());

  EXPECT_THAT(test::read_file(directory / "x"), ElementsAreArray(std::string("second")));
  EXPECT_EQ(files_in(directory), 1u);
}

TEST(NpzWrite, AcceptsTheLongestName) {
  const TempDir directory;
  const std::string name(1024, 'n');
  const NpzItem items[] = {item(name)};

  ASSERT_TRUE(write_npz(directory / "x.npz", items).ok());

  EXPECT_EQ(array_in(directory / "x.npz", name).data, kData);
}

}  // namespace
}  // namespace gantry
