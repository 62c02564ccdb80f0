// SPDX-License-Identifier: Apache-2.0
#include <gantry/directory.hpp>

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

TEST(NamesIn, SortsBytewiseAndIncludesHiddenNames) {
  const test::TempDir directory;
  for (const char* name : {"b", "a", "B", ".hidden"}) test::write_file(directory / name, "");
  std::error_code failed = std::make_error_code(std::errc::io_error);

  EXPECT_THAT(names_in(directory.path(), failed), testing::ElementsAre(".hidden", "B", "a", "b"));
  EXPECT_FALSE(failed) << "the error of an earlier call is cleared";
}

TEST(NamesIn, ReportsAnError) {
  const test::TempDir directory;
  std::error_code failed;

  EXPECT_THAT(names_in(directory / "absent", failed), testing::IsEmpty());
  EXPECT_EQ(failed, std::errc::no_such_file_or_directory);
}

}  // namespace
}  // namespace gantry
