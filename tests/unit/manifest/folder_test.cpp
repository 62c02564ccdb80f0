// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/folder.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

TEST(NamesIn, ListsBytewiseWithHiddenNamesAndWithoutTheDots) {
  const test::TempDir folder;
  for (const char* name : {"b", "a", "B", ".hidden"}) test::write_file(folder / name, "");
  std::error_code failed = std::make_error_code(std::errc::io_error);

  EXPECT_THAT(names_in(folder.path(), failed), testing::ElementsAre(".hidden", "B", "a", "b"));
  EXPECT_FALSE(failed) << "what an earlier call left is gone";
}

TEST(NamesIn, SaysWhyThereAreNone) {
  const test::TempDir folder;
  std::error_code failed;

  EXPECT_THAT(names_in(folder / "absent", failed), testing::IsEmpty());
  EXPECT_EQ(failed, std::errc::no_such_file_or_directory);
}

}  // namespace
}  // namespace gantry
