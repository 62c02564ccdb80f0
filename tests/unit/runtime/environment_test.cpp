// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/environment.hpp"

#include "tests/unit/runtime/variable.hpp"

#include <gantry/concat.hpp>
#include <gantry/embed.hpp>

#include <gmock/gmock.h>

#include <unistd.h>

#include <utility>

namespace gantry {
namespace {

using test::Variable;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Pair;

TEST(Environment, ReadsTheVariablesThatAreSet) {
  const Variable files("GANTRY_PLUGIN_FILES", "/a.yaml:/b");
  const Variable option("GANTRY_CONFIG_GANTRY_GRAPH__ALIGNMENT", "128");

  const Environment environment = read_environment();

  EXPECT_FALSE(environment.elevated);
  EXPECT_EQ(environment.plugin_files, "/a.yaml:/b");
  EXPECT_EQ(environment.add_plugin_files, std::nullopt);
  EXPECT_THAT(environment.plugin_config, Contains(Pair("GANTRY_GRAPH__ALIGNMENT", "128")));
}

TEST(Environment, IsIgnoredAndListedInAnElevatedProcess) {
  const Variable secure("GANTRY_SECURE", "1");
  const Variable files("GANTRY_PLUGIN_FILES", "/a.yaml");
  const Variable option("GANTRY_CONFIG_A__B", "1");
  const Variable temporary("TMPDIR", "/home/user/tmp");

  const Environment environment = read_environment();

  EXPECT_TRUE(environment.elevated);
  EXPECT_EQ(environment.plugin_files, std::nullopt);
  EXPECT_TRUE(environment.plugin_config.empty());
  EXPECT_TRUE(environment.cache_directory.empty());
  EXPECT_TRUE(environment.data_directory.empty());
  EXPECT_TRUE(environment.temporary_directory.empty());
  EXPECT_THAT(environment.ignored, Contains("GANTRY_PLUGIN_FILES"));
  EXPECT_THAT(environment.ignored, Contains("GANTRY_CONFIG_A__B"));
}

TEST(Environment, StatesTheThreadsOfProgramsOfTvm) {
  const Variable openmp("OMP_NUM_THREADS", "3,2");
  EXPECT_EQ(stated_threads(read_environment()).value(), 3);

  const Variable tvm("TVM_NUM_THREADS", "5");
  EXPECT_EQ(stated_threads(read_environment()).value(), 5);

  const Variable secure("GANTRY_SECURE", "1");
  EXPECT_EQ(stated_threads(read_environment()).value(), 0);
}

// As TVM does.
TEST(Environment, IgnoresAnEmptyNumberOfThreads) {
  const Variable tvm("TVM_NUM_THREADS", ""), openmp("OMP_NUM_THREADS", "3");

  const auto threads = stated_threads(read_environment());

  ASSERT_TRUE(threads.ok()) << threads.error().message;
  EXPECT_EQ(*threads, 3);
}

TEST(Environment, RefusesThreadsThatAreNoNumber) {
  for (const char* const value : {"0", "-1", "1025", "x", "2x", ","}) {
    const Variable tvm("TVM_NUM_THREADS", value);

    const auto threads = stated_threads(read_environment());

    ASSERT_FALSE(threads.ok()) << value;
    EXPECT_EQ(threads.error().message,
              concat("TVM_NUM_THREADS is \"", value, "\", expected 1 to 1024"));
  }
}

TEST(Environment, HasThreadsIfNothingElseStatesThem) {
  const Variable tvm("TVM_NUM_THREADS", "3");
  std::vector<std::string> warnings;
  RuntimeOptions options;
  options.log_sink = [&](std::int32_t, std::string_view line) { warnings.emplace_back(line); };
  EXPECT_EQ(Runtime::create(options)->threads().value(), 3);
  options.threads = 2;
  EXPECT_EQ(Runtime::create(options)->threads().value(), 2);
  EXPECT_TRUE(warnings.empty());

  options.threads = 0;
  const Variable wrong("TVM_NUM_THREADS", "many");
  EXPECT_TRUE(Runtime::create(options).ok());
  EXPECT_THAT(warnings, Contains(::testing::HasSubstr(
                            "TVM_NUM_THREADS is \"many\", expected 1 to 1024; it is ignored")));
}

TEST(Environment, AcceptsOnlyAnAbsoluteCacheDirectory) {
  const Variable relative("XDG_CACHE_HOME", "cache");
  const Variable home("HOME", "/home/user");

  EXPECT_EQ(read_environment().cache_directory, "/home/user/.cache/gantry");
}

TEST(Environment, HasTheUsersDataDirectory) {
  const Variable home("HOME", "/home/user");
  EXPECT_EQ(read_environment().data_directory, "/home/user/.local/share/gantry");

  const Variable data("XDG_DATA_HOME", "/data");
  EXPECT_EQ(read_environment().data_directory, "/data/gantry");
}

TEST(Environment, ReadsTheProgramPathInEveryProcess) {
  const Variable now("LD_BIND_NOW", "1");
  const Variable path("PATH", "/opt/bin"), secure("GANTRY_SECURE", "1");

  EXPECT_EQ(read_environment().program_path, "/opt/bin");
  EXPECT_TRUE(read_environment().binds_early);
}

TEST(Environment, ReturnsOneVariable) {
  const Variable variable("GANTRY_TEST_ONE", "1");

  const Environment environment = read_environment();

  EXPECT_EQ(environment.variable("GANTRY_TEST_ONE"), "1");
  EXPECT_EQ(environment.variable("GANTRY_TEST_NONE"), std::nullopt);
  EXPECT_FALSE(environment.ignores("GANTRY_TEST_ONE"));
}

TEST(Environment, ReturnsNoVariableIfItIsForbidden) {
  const Variable variable("GANTRY_TEST_ONE", "1");
  Environment environment = read_environment();
  environment.forbid();
  const Variable secure("GANTRY_SECURE", "1");

  for (const Environment& forbidden : {environment, read_environment()}) {
    EXPECT_EQ(forbidden.variable("GANTRY_TEST_ONE"), std::nullopt);
    EXPECT_TRUE(forbidden.ignores("GANTRY_TEST_ONE"));
    EXPECT_FALSE(forbidden.ignores("GANTRY_TEST_NONE"));
  }
}

TEST(Environment, AcceptsOnlyAnAbsoluteTemporaryDirectory) {
  {
    const Variable absolute("TMPDIR", "/scratch");
    EXPECT_EQ(read_environment().temporary_directory, "/scratch");
  }
  const Variable relative("TMPDIR", "scratch");
  EXPECT_EQ(read_environment().temporary_directory, "");
}

// execve() accepts such an entry.
TEST(Environment, SkipsAnEntryWithoutAValue) {
  char no_value[] = "GANTRY_CONFIG_A__B";
  char* entries[] = {no_value, nullptr};
  char** const before = std::exchange(environ, entries);

  const Environment environment = read_environment();
  environ = before;

  EXPECT_TRUE(environment.plugin_config.empty());
}

TEST(Environment, ReturnsTheDirectoryOfTheCore) {
  EXPECT_THAT(core_directory(), EndsWith("/tests"));
}

TEST(CoreDirectory, OfAnExtensionOfPythonIsThatOfLibrariesInItsEnvironment) {
  EXPECT_EQ(directory_in_prefix("/opt/venv/lib/python3.11/site-packages/gantry"), "/opt/venv/lib");
  EXPECT_EQ(directory_in_prefix("/usr/lib/python3/dist-packages/gantry"), "/usr/lib");
  EXPECT_EQ(directory_in_prefix("/opt/venv/lib/python3.11/site-packages"), "/opt/venv/lib");
}

TEST(CoreDirectory, ElsewhereIsThatOfTheFile) {
  EXPECT_EQ(directory_in_prefix("/usr/lib/x86_64-linux-gnu"), "/usr/lib/x86_64-linux-gnu");
  EXPECT_EQ(directory_in_prefix("/home/u/target/gantry"), "/home/u/target/gantry");
  EXPECT_EQ(directory_in_prefix("/lib/my-site-packages/gantry"), "/lib/my-site-packages/gantry");
  EXPECT_EQ(directory_in_prefix("/site-packages/gantry"), "/site-packages/gantry");
  EXPECT_EQ(directory_in_prefix(""), "");
}

TEST(Environment, ReadsEveryListOfPlugins) {
  const Variable added("GANTRY_ADD_PLUGIN_FILES", "/a"), disable("GANTRY_DISABLE", "b"),
      select("GANTRY_SELECT", "c"), not_elevated("GANTRY_SECURE", "0");

  const Environment environment = read_environment();

  EXPECT_FALSE(environment.elevated);
  EXPECT_EQ(environment.add_plugin_files, "/a");
  EXPECT_EQ(environment.disable, "b");
  EXPECT_EQ(environment.select, "c");
}

TEST(Environment, PrefersTheCacheDirectoryOfTheSystemToHome) {
  const Variable cache("XDG_CACHE_HOME", "/cache"), home("HOME", "/home/user");

  EXPECT_EQ(read_environment().cache_directory, "/cache/gantry");
}

TEST(Environment, ReadsProgramsOnlyIfItIsNotElevated) {
  const Variable compiler("CC", "/opt/cc"), glslang("GLSLANG", "/opt/glslang");
  EXPECT_EQ(read_environment().compiler, "/opt/cc");
  EXPECT_EQ(read_environment().glslang, "/opt/glslang");

  const Variable secure("GANTRY_SECURE", "1");
  EXPECT_NE(read_environment().compiler, "/opt/cc");
  EXPECT_NE(read_environment().glslang, "/opt/glslang");
}

TEST(ProbeEnvironment, HasAFixedListAndWhatThePluginMayRead) {
  const Variable home("HOME", "/home/user");
  const Variable allowed("ACME_MODE", "fast"), other("ACME_SECRET", "x");
  const Variable option("GANTRY_CONFIG_ACME_NPU__LEVEL", "3");
  const Variable foreign("GANTRY_CONFIG_OTHER__LEVEL", "3");

  const ProbeEnvironment found = probe_environment("GANTRY_CONFIG_ACME_NPU__", {"ACME_MODE"});

  EXPECT_THAT(found.decisive,
              testing::IsSupersetOf({"ACME_MODE=fast", "GANTRY_CONFIG_ACME_NPU__LEVEL=3"}));
  EXPECT_THAT(found.all, testing::IsSupersetOf(found.decisive));
  EXPECT_THAT(found.all, Contains("HOME=/home/user"));
  EXPECT_THAT(found.decisive, testing::Not(Contains("HOME=/home/user")));
  EXPECT_THAT(found.all, testing::Not(Contains("ACME_SECRET=x")));
  EXPECT_THAT(found.all, testing::Not(Contains("GANTRY_CONFIG_OTHER__LEVEL=3")));
}

// The linker's variable and those of the plugin decide about a verdict; those of the user do not.
TEST(ProbeEnvironment, HasWhatAVerdictDependsOnInOneOrder) {
  const Variable libraries("LD_LIBRARY_PATH", "/home/user/lib"), home("HOME", "/home/user"),
      path("PATH", "/bin"), temporary("TMPDIR", "/scratch");
  const Variable last("ZZ_MODE", "1"), first("AA_MODE", "2");
  const Variable option("GANTRY_CONFIG_ACME_NPU__LEVEL", "3");

  const ProbeEnvironment found =
      probe_environment("GANTRY_CONFIG_ACME_NPU__", {"ZZ_MODE", "AA_MODE"});

  EXPECT_THAT(found.decisive, testing::ElementsAre("AA_MODE=2", "GANTRY_CONFIG_ACME_NPU__LEVEL=3",
                                                   "LD_LIBRARY_PATH=/home/user/lib", "ZZ_MODE=1"));
  EXPECT_THAT(found.all, testing::IsSupersetOf(found.decisive));
  EXPECT_THAT(found.all,
              testing::IsSupersetOf({"HOME=/home/user", "PATH=/bin", "TMPDIR=/scratch"}));
}

TEST(ProbeEnvironment, HasNothingOfTheCallerInAnElevatedProcess) {
  const Variable secure("GANTRY_SECURE", "1"), home("HOME", "/home/user");
  const Variable option("GANTRY_CONFIG_ACME_NPU__LEVEL", "3"), allowed("ACME_MODE", "fast");
  const Variable libraries("LD_LIBRARY_PATH", "/home/user/lib");

  const ProbeEnvironment found = probe_environment("GANTRY_CONFIG_ACME_NPU__", {"ACME_MODE"});

  EXPECT_THAT(found.all, testing::ElementsAre("GANTRY_SECURE=1"));
  EXPECT_THAT(found.decisive, testing::IsEmpty());
}

}  // namespace
}  // namespace gantry
