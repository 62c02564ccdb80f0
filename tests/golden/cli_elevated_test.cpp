// SPDX-License-Identifier: Apache-2.0
//
// The program with a set-user-ID bit: the kernel marks the process as more privileged than its
// caller (AT_SECURE).
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ElevatedProcess : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer does not start in an elevated process";
#endif
    struct statvfs about {};
    if (::geteuid() != 0) GTEST_SKIP() << "only root changes owners";
    if (::statvfs(dir_.path().c_str(), &about) != 0 || (about.f_flag & ST_NOSUID) != 0 ||
        ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0) {
      GTEST_SKIP() << "set-user-ID bits have no effect here";
    }
    ::chmod(dir_.path().c_str(), 0755);
    fs::copy_file(build_tree() / "bin/gantry", dir_ / "gantry");
    constexpr uid_t stranger = 12345;
    ASSERT_EQ(::chown((dir_ / "gantry").c_str(), stranger, stranger), 0);
    ASSERT_EQ(::chmod((dir_ / "gantry").c_str(), 04755), 0);
    fs::create_directory(dir_ / "plugins");
    ManifestBuilder().key("fake").write_to(dir_ / "plugins/x.yaml");
  }
  Outcome doctor(const std::vector<std::string>& environment) const {
    return run_gantry_at((dir_ / "gantry").string(), {"plugins", "doctor"}, environment);
  }
  TempDir dir_;
};

TEST_F(ElevatedProcess, IgnoresVariablesThatNamePluginsAndReportsThem) {
  for (const std::string variable : {"GANTRY_PLUGIN_FILES", "GANTRY_ADD_PLUGIN_FILES"}) {
    const Outcome elevated = doctor({concat(variable, "=", (dir_ / "plugins/x.yaml").string())});

    EXPECT_THAT(elevated.out, Not(HasSubstr("test.fake")));
    EXPECT_THAT(elevated.out + elevated.err,
                HasSubstr(concat("GANTRY-D255 ENVIRONMENT_IGNORED: variable ", variable,
                                 " is ignored: this process is elevated")));
  }
  EXPECT_THAT(run_gantry({"plugins", "doctor"},
                         {"GANTRY_PLUGIN_FILES=" + (dir_ / "plugins/x.yaml").string()})
                  .out,
              HasSubstr("test.fake"));
}

TEST_F(ElevatedProcess, IgnoresFiltersAndTheUsersPlugins) {
  fs::create_directories(dir_ / "home/gantry/plugins.d");
  ManifestBuilder().key("fake").write_to(dir_ / "home/gantry/plugins.d/x.yaml");

  const Outcome elevated =
      doctor({"GANTRY_DISABLE=*", "XDG_DATA_HOME=" + (dir_ / "home").string()});

  EXPECT_THAT(elevated.out, Not(HasSubstr("test.fake")));
  EXPECT_THAT(elevated.out + elevated.err,
              HasSubstr("ENVIRONMENT_IGNORED: variable GANTRY_DISABLE is ignored: this process is "
                        "elevated"));
}

// It executes itself again, as this copy, where a driver may end its process.
TEST_F(ElevatedProcess, IsolatesDrivers) {
  const fs::path plugin = dir_ / "drivers/aborts";
  ManifestBuilder()
      .set("keys", "[{key: fake, payload: [str]}]")
      .device("fake_device")
      .line("probe: never")
      .write_to(plugin / "aborts.yaml");
  fs::copy_file(build_tree() / "tests/fake_plugins/libfake_count_aborts.so", plugin / "libfake.so");

  const Outcome elevated = run_gantry_at((dir_ / "gantry").string(),
                                         {"--plugins", (dir_ / "drivers").string(), "devices"}, {});

  EXPECT_EQ(elevated.status, 0);
  EXPECT_THAT(elevated.out, HasSubstr("cpu:0"));
  EXPECT_THAT(
      elevated.err,
      HasSubstr("plugin test.fake 1.0.0 is not used: the driver ended the process by signal "
                "6 (Aborted); its last output is \"fake: no linker\"\n"));
}

}  // namespace
}  // namespace gantry::test
