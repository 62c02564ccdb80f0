// SPDX-License-Identifier: Apache-2.0
#include "core/base/file_users.hpp"

#include "tests/support/file_holder.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace gantry {
namespace {

using test::FileHolder;
using test::TempDir;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FileUsers, AreOtherProcessesWithTheFileOpen) {
  const TempDir dir;
  const std::string file = (dir / "lock").string();
  test::write_file(file, std::string_view("x"));
  const int own = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_THAT(other_users_of(file, 8), IsEmpty());

  {
    const FileHolder holder(file);
    const std::vector<FileUser> users = other_users_of(file, 8);

    ASSERT_THAT(users, SizeIs(1));
    EXPECT_EQ(users[0].process, holder.process());
    EXPECT_EQ(users[0].program, holder.program());
  }
  EXPECT_THAT(other_users_of(file, 8), IsEmpty());
  ::close(own);
}

// Every name of a device node is the same device.
TEST(FileUsers, OfADeviceAreComparedByItsNumber) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  char name[64];
  ASSERT_EQ(::ptsname_r(terminal, name, sizeof name), 0);
  EXPECT_THAT(other_users_of(name, 8), IsEmpty());

  const FileHolder holder(name);

  EXPECT_THAT(other_users_of(name, 8), SizeIs(1));
  ::close(terminal);
}

TEST(FileUsers, AreLimited) {
  const TempDir dir;
  const std::string file = (dir / "lock").string();
  test::write_file(file, std::string_view("x"));
  const FileHolder first(file), second(file);

  EXPECT_THAT(other_users_of(file, 8), SizeIs(2));
  EXPECT_THAT(other_users_of(file, 1), SizeIs(1));
}

TEST(FileUsers, OfAMissingFileAreNone) { EXPECT_THAT(other_users_of("/nowhere/x", 8), IsEmpty()); }

}  // namespace
}  // namespace gantry
