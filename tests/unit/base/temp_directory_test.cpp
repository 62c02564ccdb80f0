// SPDX-License-Identifier: Apache-2.0
#include "core/base/temp_directory.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace gantry {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* remedy =
    "; set the variable TMPDIR to a directory that no other user can change";

TEST(TempDirectory, IsForThisUserOnly) {
  const test::TempDir shared;
  // as /tmp
  ::chmod(shared.path().c_str(), 01777);

  const auto made = TempDirectory::in(shared.path(), "link");

  ASSERT_TRUE(made.ok()) << made.error().message;
  struct stat about {};
  ASSERT_EQ(::stat(made->path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700u);
  EXPECT_THAT(made->path().native(), StartsWith((shared / ".link.").native()));
}

TEST(TempDirectory, IsNotWhereOthersCanReplaceIt) {
  const test::TempDir shared;
  ::chmod(shared.path().c_str(), 0777);

  const auto made = TempDirectory::in(shared.path(), "link");

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unavailable);
  EXPECT_EQ(made.error().reason, "PERMISSIONS");
  EXPECT_THAT(made.error().message,
              AllOf(StartsWith(concat("no directory for temporary files can be created in \"",
                                      shared.path().native(), "\": directory ")),
                    HasSubstr(" has mode 0777 "), EndsWith(remedy)));
  EXPECT_TRUE(std::filesystem::is_empty(shared.path()));
}

TEST(TempDirectory, NamesTheVariableOfADirectoryThatIsMissing) {
  const test::TempDir none;

  const auto made = TempDirectory::in(none / "missing", "link");

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unavailable);
  EXPECT_EQ(made.error().message,
            concat("no directory for temporary files can be created in \"",
                   (none / "missing").native(), "\": No such file or directory", remedy));
}

TEST(TempDirectory, IsSafeBesideATargetWhoseDirectoryIsThisUsers) {
  const test::TempDir directory;

  EXPECT_TRUE(TempDirectory::is_safe_beside(directory / "out.so"));
  ::chmod(directory.path().c_str(), 0775);
  EXPECT_FALSE(TempDirectory::is_safe_beside(directory / "out.so"));
}

}  // namespace
}  // namespace gantry
