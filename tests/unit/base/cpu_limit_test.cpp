// SPDX-License-Identifier: Apache-2.0
#include "core/base/cpu_limit.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/files.hpp"

namespace gantry {
namespace {

// A tree of control groups.
class CpuLimit : public ::testing::Test {
 protected:
  // group    [in]   "": the root; "a/b"
  void limit(const std::string& group, std::string_view text) {
    const std::filesystem::path directory = root.path() / group;
    std::filesystem::create_directories(directory);
    test::write_file(directory / "cpu.max", text);
  }
  std::optional<std::int32_t> of(std::string_view groups) const {
    return cpu_limit(root.path(), groups);
  }

  test::TempDir root;
};

TEST_F(CpuLimit, IsTheQuotaInEachPeriod) {
  limit("a", "300000 100000\n");

  EXPECT_EQ(of("0::/a\n"), 3);
}

TEST_F(CpuLimit, IsRoundedDownAndAtLeastOne) {
  limit("a", "250000 100000\n");
  limit("b", "50000 100000\n");

  EXPECT_EQ(of("0::/a\n"), 2);
  EXPECT_EQ(of("0::/b\n"), 1);
}

TEST_F(CpuLimit, IsThatOfTheStrictestGroup) {
  limit("", "600000 100000\n");
  limit("a", "200000 100000\n");
  limit("a/b", "400000 100000\n");
  limit("a/b/c", "max 100000\n");

  EXPECT_EQ(of("0::/a/b/c\n"), 2);
  EXPECT_EQ(of("0::/other\n"), 6);
}

TEST_F(CpuLimit, IsThatOfTheRootInANamespace) {
  limit("", "400000 100000\n");

  EXPECT_EQ(of("0::/\n"), 4);
  EXPECT_EQ(of("0::/../outside\n"), 4);
}

TEST_F(CpuLimit, IsNotThereWithoutAQuota) {
  limit("a", "max 100000\n");

  EXPECT_EQ(of("0::/a\n"), std::nullopt);
  EXPECT_EQ(of("0::/absent\n"), std::nullopt);
}

TEST_F(CpuLimit, FollowsTheHierarchyOfVersion2Only) {
  limit("a", "200000 100000\n");
  limit("b", "100000 100000\n");

  EXPECT_EQ(of("4:cpu,cpuacct:/b\n1:name=systemd:/b\n0::/a\n"), 2);
  EXPECT_EQ(of("4:cpu,cpuacct:/b\n"), std::nullopt);
  EXPECT_EQ(of(""), std::nullopt);
}

TEST_F(CpuLimit, IgnoresTextsThatAreNone) {
  for (const char* text : {"", "max", "100000", "-100000 100000\n", "100000 0\n", "a b\n",
                           "99999999999999999999 1\n"}) {
    limit("a", text);
    EXPECT_EQ(of("0::/a\n"), std::nullopt) << text;
  }
}

TEST_F(CpuLimit, HasARangeThatDoesNotOverflow) {
  limit("a", "9223372036854775807 1\n");

  EXPECT_EQ(of("0::/a\n"), INT32_MAX);
}

TEST(CpuLimitOfThisProcess, IsPositive) {
  const auto limit = cpu_limit();

  EXPECT_TRUE(!limit || *limit >= 1);
}

}  // namespace
}  // namespace gantry
