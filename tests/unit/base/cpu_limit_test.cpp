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
  // The same in a hierarchy of version 1: "cpu/a".
  void limit1(const std::string& group, std::string_view quota, std::string_view period) {
    std::filesystem::create_directories(root.path() / group);
    test::write_file(root.path() / group / "cpu.cfs_quota_us", quota);
    test::write_file(root.path() / group / "cpu.cfs_period_us", period);
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

TEST_F(CpuLimit, IsThatOfTheStrictestGroupOfVersion1) {
  limit1("cpu,cpuacct", "-1\n", "100000\n");
  limit1("cpu,cpuacct/a", "350000\n", "100000\n");
  limit1("cpu,cpuacct/a/b", "800000\n", "100000\n");

  EXPECT_EQ(of("5:cpuset:/x\n4:cpu,cpuacct:/a/b\n1:name=systemd:/b\n"), 3);
  EXPECT_EQ(of("4:cpu,cpuacct:/\n"), std::nullopt);
}

// In a container the directory is that of the container's group, whose path outside is listed.
TEST_F(CpuLimit, IsThatOfTheContainerOfVersion1) {
  limit1("cpu", "150000\n", "100000\n");

  EXPECT_EQ(of("4:cpu,cpuacct:/docker/0123\n"), 1);
  EXPECT_EQ(of("4:cpu:/../outside\n"), 1);
}

TEST_F(CpuLimit, IsThatOfBothVersions) {
  limit("a", "200000 100000\n");
  limit1("cpu/b", "100000\n", "50000\n");
  limit1("cpu/c", "100000\n", "100000\n");

  EXPECT_EQ(of("4:cpu:/b\n0::/a\n"), 2);
  EXPECT_EQ(of("4:cpu:/c\n0::/a\n"), 1);
  EXPECT_EQ(of("4:cpuacct:/c\n0::/a\n"), 2);
}

TEST_F(CpuLimit, IgnoresLinesThatAreNoGroups) {
  limit("", "200000 100000\n");

  for (const char* text : {"", "\n", "0", "0:", "0:cpu", "0::", "0::a\n", "::", ":::"})
    EXPECT_EQ(of(text), std::nullopt) << text;
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
