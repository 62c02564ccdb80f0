// SPDX-License-Identifier: Apache-2.0
#include <gantry/ownership.hpp>

#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace gantry {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uid_t kStranger = 12345;

// A file in a directory of a temporary directory, all owned by this user.
class OwnershipCheck : public testing::Test {
 protected:
  OwnershipCheck() {
    fs::create_directories(dir_ / "acme");
    ::chmod((dir_ / "acme").c_str(), 0755);
    test::write_file(dir_ / "acme/lib.so", "bytes");
    ::chmod((dir_ / "acme/lib.so").c_str(), 0644);
  }

  Status check(const fs::path& file, bool elevated = false,
               const std::vector<uid_t>& more = {}) const {
    return Ownership(TrustedOwners::of_process(elevated, more)).check(file.string());
  }
  std::string text(const fs::path& file) const {
    const Status status = check(file);
    if (status.ok()) return "";
    EXPECT_EQ(status.error().code, Code::unavailable);
    EXPECT_EQ(status.error().reason, "PERMISSIONS");
    return status.error().message.text();
  }
  fs::path file() const { return dir_ / "acme/lib.so"; }
  std::string acme() const { return (dir_ / "acme").string(); }

  test::TempDir dir_;
};

TEST_F(OwnershipCheck, AcceptsOwnFilesBelowAStickyDirectory) {
  EXPECT_EQ(text(file()), "");
  // Shows that the path leads through a sticky directory.
  ::chmod(dir_.path().c_str(), 01777);
  EXPECT_EQ(text(file()), "");
}

TEST_F(OwnershipCheck, AcceptsALinkToDevNull) {
  fs::create_symlink("/dev/null", dir_ / "acme/mask.yaml");
  fs::create_symlink("/dev/zero", dir_ / "acme/zero.yaml");

  EXPECT_EQ(text(dir_ / "acme/mask.yaml"), "");
  EXPECT_THAT(text(dir_ / "acme/zero.yaml"), HasSubstr("has mode 0666"));
  ::chmod(acme().c_str(), 0777);
  EXPECT_THAT(text(dir_ / "acme/mask.yaml"), StartsWith("directory " + acme()));
}

TEST_F(OwnershipCheck, LeavesMissingFilesToTheirReader) {
  EXPECT_EQ(text(dir_ / "acme/none.so"), "");
  EXPECT_EQ(text(dir_ / "none/lib.so"), "");
  EXPECT_EQ(text(dir_ / "acme/lib.so/below"), "");
}

TEST_F(OwnershipCheck, RefusesAWritableFile) {
  ::chmod(file().c_str(), 0666);
  EXPECT_EQ(text(file()), concat("file ", file().string(), " has mode 0666 (owner uid ", geteuid(),
                                 "), and others than its owner may write to it: chmod go-w it"));
  ::chmod(file().c_str(), 0664);
  EXPECT_THAT(text(file()), HasSubstr("has mode 0664"));
}

TEST_F(OwnershipCheck, RefusesAWritableDirectory) {
  ::chmod(acme().c_str(), 0777);
  EXPECT_EQ(text(file()), concat("directory ", acme(), ", on the path of ", file().string(),
                                 ", has mode 0777 (owner uid ", geteuid(),
                                 "), and others than its owner may write to it: chmod go-w it"));
  ::chmod(acme().c_str(), 0775);
  EXPECT_THAT(text(file()), HasSubstr("has mode 0775"));
}

TEST_F(OwnershipCheck, RefusesAWritableParent) {
  ::chmod(dir_.path().c_str(), 0777);

  EXPECT_THAT(text(file()), StartsWith("directory " + dir_.path().string() + ", on the path of "));
}

TEST_F(OwnershipCheck, RefusesAFileInAStickyDirectory) {
  ::chmod(acme().c_str(), 01777);

  EXPECT_EQ(text(file()), concat("directory ", acme(), ", which contains ", file().string(),
                                 ", is sticky and writable by others: move the file to a directory "
                                 "of its owner"));
}

TEST_F(OwnershipCheck, FollowsLinksToTheirTargets) {
  fs::create_directories(dir_ / "links");
  fs::create_symlink("../acme/lib.so", dir_ / "links/relative.so");
  fs::create_symlink(file(), dir_ / "links/absolute.so");
  fs::create_directory_symlink(acme(), dir_ / "links/directory");
  EXPECT_EQ(text(dir_ / "links/relative.so"), "");
  EXPECT_EQ(text(dir_ / "links/absolute.so"), "");
  EXPECT_EQ(text(dir_ / "links/directory/lib.so"), "");

  ::chmod(acme().c_str(), 0777);

  for (const char* link : {"relative.so", "absolute.so", "directory/lib.so"})
    EXPECT_THAT(text(dir_ / "links" / link), StartsWith("directory " + acme())) << link;
}

TEST_F(OwnershipCheck, ChecksTheDirectoryOfALink) {
  fs::create_directories(dir_ / "links");
  fs::create_symlink(file(), dir_ / "links/lib.so");
  ::chmod((dir_ / "links").c_str(), 0777);

  EXPECT_THAT(text(dir_ / "links/lib.so"), StartsWith("directory " + (dir_ / "links").string()));
}

// A directory that has passed is not checked again, its files are.
TEST_F(OwnershipCheck, ChecksEachFileOfADirectory) {
  fs::create_directories(dir_ / "links");
  fs::create_directory_symlink(acme(), dir_ / "links/directory");
  fs::create_directories(dir_ / "sticky");
  ::chmod((dir_ / "sticky").c_str(), 01777);
  for (const char* name : {"acme/wrong.so", "sticky/a.so", "sticky/b.so"}) {
    test::write_file(dir_ / name, "bytes");
    ::chmod((dir_ / name).c_str(), 0644);
  }
  ::chmod((dir_ / "acme/wrong.so").c_str(), 0666);
  Ownership pass(TrustedOwners::of_process(false));
  const auto text_of = [&](const char* name) {
    const Status status = pass.check((dir_ / name).string());
    return status.ok() ? std::string() : status.error().message.text();
  };

  for (const char* directory : {"acme", "links/directory", "links/../acme", "acme//."}) {
    EXPECT_EQ(text_of(concat(directory, "/lib.so").c_str()), "") << directory;
    EXPECT_EQ(text_of(concat(directory, "/none.so").c_str()), "") << directory;
    EXPECT_THAT(text_of(concat(directory, "/wrong.so").c_str()), HasSubstr("has mode 0666"))
        << directory;
    EXPECT_EQ(text_of(concat(directory, "/").c_str()), "") << directory;
  }
  for (const char* name : {"sticky/a.so", "sticky/b.so"})
    EXPECT_EQ(text_of(name), text(dir_ / name)) << name;
  EXPECT_THAT(text_of("sticky/b.so"), HasSubstr("is sticky and writable by others"));
}

TEST_F(OwnershipCheck, RefusesALoopOfLinks) {
  fs::create_symlink("b", dir_ / "acme/a");
  fs::create_symlink("a", dir_ / "acme/b");

  EXPECT_THAT(text(dir_ / "acme/a"), HasSubstr("is one of more than 40 symbolic links"));
}

TEST_F(OwnershipCheck, RefusesARelativePath) {
  EXPECT_EQ(text("lib.so"), "lib.so is relative, only absolute paths can be checked");
}

// Root changes owners; other users cannot.
class OwnershipCheckAsRoot : public OwnershipCheck {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root changes owners";
  }
};

TEST_F(OwnershipCheckAsRoot, RefusesAFileOfAStranger) {
  ASSERT_EQ(::chown(file().c_str(), kStranger, kStranger), 0);

  EXPECT_EQ(text(file()), concat("file ", file().string(),
                                 " is owned by uid 12345 (mode 0644), trusted is uid 0: change its "
                                 "owner, or add the uid to trusted_uids"));
  EXPECT_TRUE(check(file(), false, {kStranger}).ok());
}

TEST_F(OwnershipCheckAsRoot, RefusesADirectoryOfAStranger) {
  ASSERT_EQ(::chown(acme().c_str(), kStranger, kStranger), 0);

  EXPECT_THAT(text(file()), StartsWith("directory " + acme() + ", on the path of "));
}

TEST_F(OwnershipCheckAsRoot, RefusesALinkOfAStranger) {
  const fs::path link = dir_ / "acme/link.so";
  fs::create_symlink(file(), link);
  ASSERT_EQ(::lchown(link.c_str(), kStranger, kStranger), 0);

  EXPECT_THAT(text(link), StartsWith("link " + link.string() + " is owned by uid 12345"));
}

TEST_F(OwnershipCheckAsRoot, RefusesAFileOfAStrangerBelowAStickyDirectory) {
  ::chmod(dir_.path().c_str(), 01777);
  ASSERT_EQ(::chown(acme().c_str(), kStranger, kStranger), 0);

  EXPECT_THAT(text(file()), HasSubstr("is owned by uid 12345"));
}

TEST_F(OwnershipCheckAsRoot, TrustsOnlyRootInAnElevatedProcess) {
  ASSERT_EQ(::chown(file().c_str(), kStranger, kStranger), 0);

  const Status status = check(file(), true, {kStranger});

  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr("trusted is uid 0 (this process is elevated): change its owner"));
}

TEST(TrustedOwners, AreRootTheUserAndConfiguredOnes) {
  EXPECT_EQ(TrustedOwners::of_process(true, {7}).uids, std::vector<uid_t>{0});
  for (const uid_t uid : {uid_t{0}, uid_t{7}, geteuid()})
    EXPECT_THAT(TrustedOwners::of_process(false, {7}).uids, testing::Contains(uid));
}

// A core in a directory of its own, beside the plugin's.
class WritersOfTheCore : public OwnershipCheck {
 protected:
  WritersOfTheCore() {
    fs::create_directories(dir_ / "core/bin");
    ::chmod((dir_ / "core").c_str(), 0755);
    ::chmod((dir_ / "core/bin").c_str(), 0755);
  }
  bool accepts_plugin(bool elevated = false) const {
    TrustedOwners owners = TrustedOwners::of_process(elevated);
    owners.add_writers_of((dir_ / "core/bin").string());
    return Ownership(owners).check(file().string()).ok();
  }
  std::string core() const { return (dir_ / "core").string(); }
};

TEST_F(WritersOfTheCore, MayOwnPlugins) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change owners";
  ASSERT_EQ(::chown(acme().c_str(), kStranger, 0), 0);
  EXPECT_FALSE(accepts_plugin());

  ASSERT_EQ(::chown(core().c_str(), kStranger, 0), 0);
  EXPECT_TRUE(accepts_plugin());
  EXPECT_FALSE(accepts_plugin(true));
}

TEST_F(WritersOfTheCore, MayWriteToPluginsAsAGroup) {
  ::chmod(acme().c_str(), 0775);
  EXPECT_FALSE(accepts_plugin());

  ::chmod(core().c_str(), 0775);
  EXPECT_TRUE(accepts_plugin());
  EXPECT_EQ(accepts_plugin(true), false);

  ::chmod(acme().c_str(), 0777);
  EXPECT_FALSE(accepts_plugin());
}

TEST_F(WritersOfTheCore, AreNobodyIfEverybodyMayWrite) {
  ::chmod(acme().c_str(), 0775);
  ::chmod(core().c_str(), 0777);
  EXPECT_FALSE(accepts_plugin());
}

TEST_F(WritersOfTheCore, OfAnotherGroupMayNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change owners";
  ::chmod(acme().c_str(), 0775);
  ::chmod(core().c_str(), 0775);
  ASSERT_EQ(::chown(core().c_str(), 0, kStranger), 0);

  EXPECT_FALSE(accepts_plugin());
}

}  // namespace
}  // namespace gantry
