// SPDX-License-Identifier: Apache-2.0
//
// The options that a plugin reads: from its manifest, the configuration and the environment.
#include "tests/unit/plugin/world.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/variable.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::Variable;
using ::testing::HasSubstr;

class PluginOption : public ::testing::Test {
 protected:
  PluginOption() {
    world_.add("fake", "globals",
               test::fake_manifest()
                   .set("globals", "[\"test.*\"]")
                   .set("config_schema",
                        "{level: {type: int, default: 3, min: 0, max: 9}, "
                        "maxLevel: {type: int, min: 0, max: 9}}"));
  }
  // Returns the value that the plugin reads.
  Result<std::int64_t> level(std::string_view config = "{}") {
    test::write_file(directory_ / "runtime.yaml", config);
    RuntimeOptions options;
    options.config_file = (directory_ / "runtime.yaml").string();
    options.plugin_dirs = {world_.path().string()};
    options.only_these_plugins = true;
    Runtime runtime = test::make_runtime(std::move(options));
    GANTRY_TRY(const Module model,
               runtime.load((test::build_tree() / "tests/host_fixtures/packed.so").string()));
    GANTRY_TRY(const Function call, model.function("call_by_name"));
    GANTRY_TRY(const Any value, call(std::string("test.option")));
    return value.integer();
  }

 private:
  test::World world_;
  test::TempDir directory_;
};

TEST_F(PluginOption, HasTheDefaultOfTheManifest) { EXPECT_EQ(level().value(), 3); }

TEST_F(PluginOption, IsSetByTheConfiguration) {
  EXPECT_EQ(level("backends: {test.fake: {config: {level: 5}}}").value(), 5);
}

TEST_F(PluginOption, IsNotSetByTheConfigurationOfAnotherPlugin) {
  EXPECT_EQ(level("backends: {test.other: {config: {level: 5}}}").value(), 3);
}

TEST_F(PluginOption, IsSetByTheEnvironmentBeforeTheConfiguration) {
  const Variable variable("GANTRY_CONFIG_TEST_FAKE__LEVEL", "7");

  EXPECT_EQ(level("backends: {test.fake: {config: {level: 5}}}").value(), 7);
}

TEST_F(PluginOption, IsNotSetByTheVariableOfAnotherPlugin) {
  const Variable variable("GANTRY_CONFIG_TEST_OTHER__LEVEL", "7");

  EXPECT_EQ(level().value(), 3);
}

TEST_F(PluginOption, IsRefusedOutsideItsRange) {
  const Variable variable("GANTRY_CONFIG_TEST_FAKE__LEVEL", "10");

  const auto refused = level();

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("environment variable GANTRY_CONFIG_TEST_FAKE__LEVEL: option \"level\" of "
                        "plugin test.fake: "));
}

// A variable does not show the case of the option's name.
TEST_F(PluginOption, OfTheEnvironmentHasTheNameInTheManifest) {
  const Variable variable("GANTRY_CONFIG_TEST_FAKE__MAXLEVEL", "10");

  const auto refused = level();

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "CONFIG_VALUE");
  EXPECT_THAT(refused.error().message, HasSubstr("maxLevel"));
}

TEST_F(PluginOption, OfTheEnvironmentIsRefusedIfThePluginDoesNotHaveIt) {
  const Variable variable("GANTRY_CONFIG_TEST_FAKE__LEVER", "1");

  const auto refused = level();

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("lever"));
}

}  // namespace
}  // namespace gantry
