// SPDX-License-Identifier: Apache-2.0
#include "core/formats/kind/unpacked_file.hpp"

#include "core/formats/kind/file_kind.hpp"
#include "tests/support/files.hpp"
#include "tests/support/gzip_bytes.hpp"
#include "tests/support/tar_bytes.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::bytes_of_text;
using test::gzipped;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::shared_ptr<const MappedFile> file_of(const std::string& text) {
  return MappedFile::copy("model.tar", bytes_of_text(text)).value();
}

std::string archive() { return test::tar_file("lib0.o", "code") + std::string(1024, '\0'); }

TEST(UnpackedFile, IsTheTarArchiveThatGzipHasCompressed) {
  const auto file = unpacked(file_of(gzipped(archive())));

  ASSERT_TRUE(file.ok()) << file.error().message.text();
  EXPECT_EQ((*file)->path(), "model.tar");
  EXPECT_EQ(kind_of((*file)->bytes()), FileKind::tar);
  EXPECT_TRUE(std::ranges::equal((*file)->bytes(), bytes_of_text(archive())));
}

TEST(UnpackedFile, IsAnyOtherFileItself) {
  const std::string packed = gzipped(archive());
  for (const std::string& text :
       {archive(), gzipped("text"), gzipped(std::string(4096, 'x')), packed.substr(0, 20)}) {
    const auto file = file_of(text);

    const auto same = unpacked(file);

    ASSERT_TRUE(same.ok()) << same.error().message.text();
    EXPECT_EQ(*same, file);
  }
}

TEST(UnpackedFile, IsRefusedAboveTheLimit) {
  const auto at_limit = unpacked(file_of(gzipped(archive())), archive().size());
  const auto above = unpacked(file_of(gzipped(archive())), archive().size() - 1);

  EXPECT_TRUE(at_limit.ok());
  ASSERT_FALSE(above.ok());
  EXPECT_EQ(above.error().code, Code::malformed);
  EXPECT_THAT(above.error().message.text(),
              HasSubstr("gzip data have more than 2047 bytes after decompression"));
  EXPECT_THAT(above.error().message.text(),
              EndsWith("in model.tar, a tar archive that gzip has compressed; gunzip checks and "
                       "decompresses it"));
}

TEST(UnpackedFile, IsRefusedIfItIsTruncated) {
  std::string noise;
  for (int i = 0; i < 20'000; ++i) noise += std::to_string(i * 7919);
  const std::string packed = gzipped(test::tar_file("lib0.o", noise));

  const auto file = unpacked(file_of(packed.substr(0, packed.size() / 2)));

  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message.text(), HasSubstr("before their last block"));
}

}  // namespace
}  // namespace gantry
