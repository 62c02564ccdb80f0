// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/gunzip.hpp"

#include "tests/support/files.hpp"
#include "tests/unit/cli_install/archive_builder.hpp"

#include <gmock/gmock.h>

namespace gantry::cli {
namespace {

using test::bytes_of;
using test::gzipped;
using test::TempDir;
using ::testing::HasSubstr;

// several pieces of the reader
std::string long_text() {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += std::to_string(i * 7919);
  return text;
}

TEST(GzipFile, IsRecognizedByItsFirstBytes) {
  EXPECT_TRUE(is_gzip(bytes_of(gzipped("x"))));
  EXPECT_FALSE(is_gzip(bytes_of("plain")));
  EXPECT_FALSE(is_gzip({}));
}

TEST(GzipFile, HasTheTextAgain) {
  const TempDir dir;
  const std::string text = long_text(), packed = gzipped(text);

  const auto file = gunzip(bytes_of(packed), dir.path(), text.size());

  ASSERT_TRUE(file.ok()) << file.error().message.text();
  const auto bytes = (*file)->bytes();
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(GzipFile, IsRefusedIfItIsTruncated) {
  const TempDir dir;
  const std::string packed = gzipped(long_text());

  const auto file = gunzip(bytes_of(packed).first(packed.size() / 2), dir.path(), 1 << 30);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::malformed);
  EXPECT_EQ(file.error().message.text(),
            concat("gzip data end at byte ", packed.size() / 2, " before their last block"));
}

TEST(GzipFile, IsRefusedIfItIsDamaged) {
  const TempDir dir;
  std::string packed = gzipped(long_text());
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  packed[packed.size() / 2 + 1] = static_cast<char>(packed[packed.size() / 2 + 1] ^ 0x55);

  const auto file = gunzip(bytes_of(packed), dir.path(), 1 << 30);

  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message.text(), HasSubstr("gzip data are damaged at byte "));
}

TEST(GzipFile, IsRefusedAboveTheLimit) {
  const TempDir dir;
  const std::string packed = gzipped(std::string(1 << 20, 'x'));

  const auto file = gunzip(bytes_of(packed), dir.path(), (1 << 20) - 1);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message.text(),
            "gzip data have more than 1048575 bytes after decompression");
}

}  // namespace
}  // namespace gantry::cli
