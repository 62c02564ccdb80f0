// SPDX-License-Identifier: Apache-2.0
//
// The options that a plugin reads: from its manifest, the configuration and the environment.
#include "core/engine/runtime/plugin_options.hpp"
#include "core/engine/embed/objects.hpp"
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/variable.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::Variable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  Runtime new_runtime(std::string_view config) {
    test::write_file(directory_ / "runtime.yaml", config);
    RuntimeOptions options;
    options.log_sink = [this](std::int32_t, std::string_view line) { lines_.emplace_back(line); };
    options.config_file = (directory_ / "runtime.yaml").string();
    options.plugin_paths = {world_.path().string()};
    options.only_these_plugins = true;
    return test::make_runtime(std::move(options));
  }
  // Returns the value that the plugin reads.
  Result<std::int64_t> level(std::string_view config = "{}") {
    Runtime runtime = new_runtime(config);
    GANTRY_TRY(const Module model,
               runtime.load((test::build_tree() / "tests/host_fixtures/packed.so").string()));
    GANTRY_TRY(const Function call, model.function("call_by_name"));
    GANTRY_TRY(const Any value, call(std::string("test.option")));
    return value.integer();
  }

  test::World world_;
  test::TempDir directory_;
  std::vector<std::string> lines_;
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

// An option whose value is a variable that the manifest allows.
class PluginVariable : public PluginOption {
 protected:
  PluginVariable() { write("${env:ACME_LEVEL:-6}"); }
  // Replaces the manifest.
  void write(std::string_view value) {
    world_.add("fake", "",
               test::fake_manifest()
                   .set("globals", "[\"test.*\"]")
                   .set("env_allow", "[ACME_LEVEL, ACME_OTHER]")
                   .set("config", concat("{level: \"", value, "\"}")));
  }
  // Returns the value of the option, which the plugin reads as a text.
  std::string text(std::string_view config = "{}") {
    const auto values = options(config);
    return values.ok() ? display_text(values->at(0)) : concat(values.error().message);
  }
  Result<std::vector<ConfigValue>> options(std::string_view config) {
    const Runtime runtime = new_runtime(config);
    const RuntimeState& state = *state_of(runtime.get());
    std::vector<Message> warnings;
    warnings_ = state.plugins->warnings();
    return plugin_options(state, *state.plugins->candidates().at(0).manifest, warnings);
  }

  std::vector<Message> warnings_;
};

TEST_F(PluginVariable, IsReadIfTheManifestAllowsIt) {
  const Variable variable("ACME_LEVEL", "2");

  EXPECT_EQ(text(), "2");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(PluginVariable, IsNotReadInAnElevatedProcess) {
  const Variable variable("ACME_LEVEL", "2"), secure("GANTRY_SECURE", "1");

  EXPECT_EQ(text(), "6");
  const char* warning =
      "GANTRY-D255 ENVIRONMENT_IGNORED: variable ACME_LEVEL is ignored: this process is elevated";
  EXPECT_THAT(warnings_, ElementsAre(Message(warning)));
  EXPECT_THAT(lines_, ElementsAre(warning));

  write("${env:ACME_LEVEL}");
  EXPECT_THAT(text(), HasSubstr("requires the environment variable ACME_LEVEL, which is not set"));
}

TEST_F(PluginVariable, IsNotReadIfTheConfigurationDeniesIt) {
  const Variable variable("ACME_LEVEL", "2"), other("ACME_OTHER", "3");

  EXPECT_EQ(text("environment: deny"), "6");
  // No option names the other one.
  EXPECT_THAT(warnings_, ElementsAre(Message("GANTRY-D255 ENVIRONMENT_IGNORED: variable ACME_LEVEL "
                                             "is ignored: environment is deny in ",
                                             (directory_ / "runtime.yaml").string())));
}

TEST_F(PluginVariable, IsNotReportedIfItIsNotSet) {
  EXPECT_EQ(text("environment: deny"), "6");
  EXPECT_THAT(warnings_, IsEmpty());
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
