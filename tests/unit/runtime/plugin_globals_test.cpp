// SPDX-License-Identifier: Apache-2.0
//
// Functions that plugins provide to compiled code by name.
#include "tests/unit/library/world.hpp"
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::ManifestBuilder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PluginGlobals : public ::testing::Test {
 protected:
  static ManifestBuilder offers(std::string_view globals) {
    return test::fake_manifest().set("globals", globals);
  }
  // Preferred to the other one.
  static ManifestBuilder second(std::string_view globals) {
    return ManifestBuilder()
        .id("test.second")
        .version("2.0.0")
        .key("fake")
        .device("second_device")
        .set("globals", globals)
        .line("priority: 5");
  }
  // Compiled code that calls the function of this name.
  Result<Any> call(std::string_view name) {
    RuntimeOptions options;
    options.plugin_paths = {world.path().string()};
    options.only_these_plugins = true;
    runtime = test::make_runtime(std::move(options));
    const auto model =
        runtime->load((test::build_tree() / "tests/host_fixtures/packed.so").string());
    EXPECT_TRUE(model.ok()) << model.error().message;
    return model->function("call_by_name").value()(std::string(name));
  }

  test::World world;
  std::optional<Runtime> runtime;
};

TEST_F(PluginGlobals, AreCalledByCompiledCode) {
  world.add("fake", "globals", offers("[test.answer]"));

  const auto result = call("test.answer");

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->integer().value(), 42);
}

TEST_F(PluginGlobals, FollowThoseOfTheRuntime) {
  const auto result = call("__tvm_set_device");

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid) << "it is called without arguments";
}

TEST_F(PluginGlobals, AreOfferedByAPrefix) {
  world.add("fake", "globals", offers("[\"test.*\"]"));

  const auto result = call("test.answer");

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->integer().value(), 42);
}

TEST_F(PluginGlobals, DoNotOpenAPluginThatDoesNotOfferTheName) {
  world.add("fake", "globals", offers("[test.other, \"tes.*\"]"));

  const auto result = call("test.answer");

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_NE(result.error().reason, "GLOBAL_MISSING");
  EXPECT_EQ(runtime->plugins_in_use().value(), std::vector<std::string>());
}

TEST_F(PluginGlobals, ComeFromThePreferredPlugin) {
  world.add("fake", "globals", offers("[test.answer]"));
  world.add("second", "second_globals", second("[test.answer]"));

  const auto result = call("test.answer");

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->integer().value(), 43);
}

TEST_F(PluginGlobals, ComeFromTheNextPluginIfTheFirstFails) {
  world.add("fake", "globals", offers("[test.answer]"));
  world.add("second", "create_fails", second("[test.answer]"));

  const auto result = call("test.answer");

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->integer().value(), 42);
}

TEST_F(PluginGlobals, ReportAFunctionThatThePluginDoesNotHave) {
  world.add("fake", "globals", offers("[test.missing]"));

  const auto result = call("test.missing");

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_EQ(result.error().reason, "GLOBAL_MISSING");
  EXPECT_THAT(result.error().message,
              StartsWith("global function \"test.missing\" not found; test.fake offers it by "
                         "manifest and does not have it\n"));
}

TEST_F(PluginGlobals, ReportAFailedLookUp) {
  world.add("fake", "globals", offers("[test.fails]"));

  const auto result = call("test.fails");

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::unavailable);
  EXPECT_EQ(result.error().reason, "NO_DRIVER");
  EXPECT_THAT(result.error().message,
              StartsWith("fake: no driver\n  while looking up \"test.fails\"\n"));
}

TEST_F(PluginGlobals, ReportAPluginWithoutTheExtension) {
  world.add("fake", "good", offers("[test.answer]"));

  const auto result = call("test.answer");

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::malformed);
  EXPECT_EQ(result.error().reason, "FUNCTION_MISSING");
  EXPECT_THAT(result.error().message, StartsWith("plugin test.fake: gantry_globals is empty\n"));
}

// The CPU code keeps the function alive, which keeps the runtime alive.
TEST_F(PluginGlobals, OutliveTheHandleOfTheRuntime) {
  world.add("fake", "globals", offers("[test.answer]"));
  ASSERT_TRUE(call("test.answer").ok());
  const Function function =
      runtime->load((test::build_tree() / "tests/host_fixtures/packed.so").string())
          .value()
          .function("call_by_name")
          .value();

  runtime.reset();

  EXPECT_EQ(function("test.answer").value().integer().value(), 42);
}

}  // namespace
}  // namespace gantry
