// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/arrays/zip_bytes.hpp"
#include "tests/unit/runtime/digits.hpp"

#include "core/formats/arrays/npy.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry {
namespace {

using test::make_runtime;
using test::zip_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::uint8_t> zeros(std::int64_t count) {
  const std::vector<std::uint8_t> data(static_cast<std::size_t>(count));
  return npy_bytes({1, 8, 1}, std::vector{count}, data).value();
}

TEST(ReadTensors, ReadsACompressedFile) {
  Runtime runtime = make_runtime();
  const test::TempDir dir;
  test::write_file(dir / "x.npz", zip_of({{"x.npy", zeros(1 << 20), 8}}));

  const auto tensors = runtime.read_tensors((dir / "x.npz").string());

  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ(tensors->front().second.byte_size(), std::uint64_t{1} << 20);
}

// 70 KB that decompress to 70 MB of zeros: more than 64 MiB, and more than 64 bytes for each byte
// of the file.
TEST(ReadTensors, RejectsAFileWithAHugeDecompressedSize) {
  Runtime runtime = make_runtime();
  const test::TempDir dir;
  test::write_file(dir / "bomb.npz", zip_of({{"x.npy", zeros(80 << 20), 8}}));
  const std::uint64_t room = (64 << 20) + 64 * std::filesystem::file_size(dir / "bomb.npz");

  const auto tensors = runtime.read_tensors((dir / "bomb.npz").string());

  ASSERT_FALSE(tensors.ok());
  EXPECT_EQ(tensors.error().code, Code::exhausted);
  EXPECT_THAT(tensors.error().message,
              HasSubstr("npz member \"x.npy\": size is 80.0 MiB (83886208 bytes), room for "));
  EXPECT_THAT(tensors.error().message, HasSubstr(concat("(", room, " bytes)")));
  EXPECT_THAT(tensors.error().message, HasSubstr("numpy.savez() writes arrays that need no room"));
}

TEST(ReadTensors, ExplainsOnlyAnExhaustedLimit) {
  Runtime runtime = make_runtime();
  const test::TempDir dir;
  test::write_file(dir / "x.npy", "no array");

  const auto tensors = runtime.read_tensors((dir / "x.npy").string());

  ASSERT_FALSE(tensors.ok());
  EXPECT_THAT(tensors.error().message,
              AllOf(HasSubstr("while reading tensors of " + (dir / "x.npy").string()),
                    Not(HasSubstr("numpy.savez()"))));
}

TEST(ReadTensors, ReportsAFileThatDoesNotExist) {
  const auto tensors = make_runtime().read_tensors("/nowhere/x.npy");

  ASSERT_FALSE(tensors.ok());
  EXPECT_EQ(tensors.error().code, Code::not_found);
  EXPECT_THAT(tensors.error().message, HasSubstr("while reading tensors of /nowhere/x.npy"));
}

}  // namespace
}  // namespace gantry
