// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/machine_traits.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

const MachineTraits kHost{"x86_64", "linux", "glibc", "2.36", {"x86-64-v1", "x86-64-v2"}};

TEST(CheckTargets, AcceptsMatchingAndEmptyTargets) {
  EXPECT_TRUE(check_targets({}, kHost).ok());
  EXPECT_TRUE(
      check_targets({{"aarch64", "x86_64"}, {"linux"}, {"musl", "glibc>=2.28"}, "x86-64-v2"}, kHost)
          .ok());
  EXPECT_TRUE(check_targets({{}, {}, {"glibc>=2.36"}, ""}, kHost).ok());
}

TEST(CheckTargets, ReportsTheTargetsAndTheHost) {
  const std::tuple<ManifestTargets, std::string, std::string> bad[] = {
      {{{"aarch64", "riscv64"}, {}, {}, ""},
       "TARGET",
       "plugin targets aarch64, riscv64, this host is x86_64"},
      {{{}, {"freebsd"}, {}, ""}, "TARGET", "plugin targets freebsd, this host is linux"},
      {{{}, {}, {"glibc>=2.38"}, ""},
       "TARGET",
       "plugin targets glibc>=2.38, this host has glibc 2.36"},
      {{{}, {}, {"musl"}, ""}, "TARGET", "plugin targets musl, this host has glibc 2.36"},
      {{{}, {}, {}, "x86-64-v4"},
       "ISA",
       "plugin requires CPU level x86-64-v4, this host supports x86-64-v1, x86-64-v2"}};
  for (const auto& [targets, reason, message] : bad) {
    const Status status = check_targets(targets, kHost);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.error().code, Code::unsupported);
    EXPECT_EQ(status.error().reason, reason);
    EXPECT_EQ(status.error().message, message);
  }
}

TEST(MachineTraits, DescribeThisMachine) {
  const MachineTraits host = host_traits();

  EXPECT_TRUE(host.arch == "x86_64" || host.arch == "aarch64");
  EXPECT_EQ(host.os, "linux");
  EXPECT_EQ(host.libc_name, "glibc");
  EXPECT_EQ(host.libc_version.substr(0, 2), "2.");
  ASSERT_FALSE(host.isa.empty());
  EXPECT_EQ(host.isa[0], host.arch == "x86_64" ? "x86-64-v1" : "armv8-a");
}

TEST(VersionLess, ComparesNumerically) {
  EXPECT_TRUE(version_less("2.4", "2.36"));
  EXPECT_FALSE(version_less("2.36", "2.4"));
  EXPECT_FALSE(version_less("2.36", "2.36"));
  EXPECT_FALSE(version_less("2.36.0", "2.36"));
  EXPECT_TRUE(version_less("7", "7.1"));
}

}  // namespace
}  // namespace gantry
