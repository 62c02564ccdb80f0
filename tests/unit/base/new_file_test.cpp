// SPDX-License-Identifier: Apache-2.0
#include "core/base/new_file.hpp"

#include "core/base/text.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace gantry {
namespace {

TEST(NewFile, IsReadByItsUserOnlyAndReplacesNone) {
  const test::TempDir directory;
  const std::filesystem::path path = directory / "a";

  ASSERT_TRUE(write_new_file(path, as_bytes("text")).ok());
  const Status again = write_new_file(path, as_bytes("other"));

  EXPECT_EQ(test::read_file(path), std::vector<std::uint8_t>({'t', 'e', 'x', 't'}));
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::unavailable);
  EXPECT_EQ(again.error().message, path.native() + ": File exists while creating it");
}

TEST(NewFile, ReportsAWriteThatFails) {
  const test::TempDir directory;
  rlimit known{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &known), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4, known.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);

  const Status written = write_new_file(directory / "a", as_bytes("longer text"));

  ::setrlimit(RLIMIT_FSIZE, &known);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::unavailable);
  EXPECT_EQ(written.error().native_code, EFBIG);
  EXPECT_EQ(written.error().message, (directory / "a").native() + ": File too large while writing");
}

}  // namespace
}  // namespace gantry
