// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/config_values.hpp"

#include "tests/support/manifest_builder.hpp"

#include <gmock/gmock.h>

#include <tuple>

namespace gantry {
namespace {

using test::ManifestBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One option of each type.
Manifest typed(std::string_view config = "{}") {
  return read_manifest(ManifestBuilder()
                           .id("acme.npu")
                           .key("k")
                           .set("config", config)
                           .line("env_allow: [CACHE]")
                           .line("config_schema:")
                           .line("  on: {type: bool, default: true}")
                           .line("  mb: {type: int, default: 256, min: 0, max: 1024}")
                           .line("  scale: {type: float, default: 0.5}")
                           .line("  name: {type: string, default: \"\"}")
                           .line("  dir: {type: path, default: \"${state_dir}/acme\"}")
                           .line("  mode: {type: enum, enum: [lazy, eager], default: lazy}")
                           .line("  token: {type: string, secret: true}")
                           .text(),
                       "/p/acme.yaml")
      .value();
}

ConfigLocations locations() {
  return {"/p", "/p/lib", "/cache", [](const std::string& name) -> std::optional<std::string> {
            if (name == "CACHE") return "/env/cache";
            return std::nullopt;
          }};
}

std::string resolved(const Manifest& manifest, const std::vector<ConfigLayer>& layers,
                     std::string_view key) {
  std::vector<Message> warnings;
  const auto values = resolve_config(manifest, layers, locations(), warnings);
  if (!values.ok()) return values.error().message;
  for (const ConfigValue& value : *values) {
    if (value.key == key) return concat(display_text(value), " from ", value.source);
  }
  return "unset";
}

Error refusal(const Manifest& manifest, const std::vector<ConfigLayer>& layers) {
  std::vector<Message> warnings;
  const auto values = resolve_config(manifest, layers, locations(), warnings);
  return values.ok() ? Error{} : values.error();
}

ConfigLayer layer(std::string source, std::string key, std::string text,
                  Spelling spelling = Spelling::plain) {
  return {std::move(source), {{std::move(key), std::move(text), spelling}}};
}

TEST(ConfigValues, HaveTheTypesOfTheSchema) {
  std::vector<Message> warnings;
  const auto values = resolve_config(typed(), {}, locations(), warnings);

  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ((*values)[0].value, ConfigScalar(true));
  EXPECT_EQ((*values)[1].value, ConfigScalar(std::int64_t{256}));
  EXPECT_EQ((*values)[2].value, ConfigScalar(0.5));
  EXPECT_EQ((*values)[3].value, ConfigScalar(std::string()));
  EXPECT_EQ((*values)[4].value, ConfigScalar(std::string("/cache/acme")));
  EXPECT_EQ((*values)[5].value, ConfigScalar(std::string("lazy")));
  EXPECT_EQ(values->size(), 6u);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(ConfigValues, AreThoseOfTheHighestLayer) {
  const Manifest manifest = typed("{mb: 1}");
  const ConfigLayer core = layer("runtime.yaml", "mb", "2");
  const ConfigLayer variable = layer("GANTRY_CONFIG_ACME_NPU__MB", "mb", "3", Spelling::raw);

  EXPECT_EQ(resolved(typed(), {}, "mb"), "256 from default");
  EXPECT_EQ(resolved(manifest, {}, "mb"), "1 from /p/acme.yaml");
  EXPECT_EQ(resolved(manifest, {core}, "mb"), "2 from runtime.yaml");
  EXPECT_EQ(resolved(manifest, {core, variable}, "mb"), "3 from GANTRY_CONFIG_ACME_NPU__MB");
}

TEST(ConfigValues, AreExpandedOnce) {
  const auto expands = [](std::string_view text) {
    return resolved(typed(), {layer("t", "name", std::string(text), Spelling::quoted)}, "name");
  };
  EXPECT_EQ(expands("${manifest_dir}:${library_dir}:${state_dir}"), "/p:/p/lib:/cache from t");
  EXPECT_EQ(expands("${env:CACHE}/x"), "/env/cache/x from t");
  EXPECT_EQ(expands("${env:CACHE:-/other}"), "/env/cache from t");
  EXPECT_EQ(expands("100 $$"), "100 $ from t");
  EXPECT_EQ(expands("$${env:CACHE}"), "${env:CACHE} from t");
}

struct BadValue {
  ConfigLayer layer;
  std::string reason;
  std::string message;
};

TEST(ConfigValues, AreRejectedWithSourceOptionAndPlugin) {
  const auto text = [](std::string value) {
    return layer("t", "name", std::move(value), Spelling::quoted);
  };
  const std::string name = "t: option \"name\" of plugin acme.npu: ";
  const BadValue bad[] = {
      {layer("runtime.yaml", "mbb", "1"), "CONFIG_KEY",
       "runtime.yaml: option \"mbb\" of plugin acme.npu not found, did you mean \"mb\""},
      {layer("runtime.yaml", "zzzzzz", "1"), "CONFIG_KEY",
       "runtime.yaml: option \"zzzzzz\" of plugin acme.npu not found; options: on, mb, scale, "
       "name, "
       "dir, mode, token"},
      {layer("t", "mb", "2048"), "CONFIG_VALUE",
       "t: option \"mb\" of plugin acme.npu: expected int 0 to 1024, found \"2048\""},
      {layer("t", "mb", "-1"), "CONFIG_VALUE",
       "t: option \"mb\" of plugin acme.npu: expected int 0 to 1024, found \"-1\""},
      {layer("t", "mb", "1", Spelling::quoted), "CONFIG_VALUE",
       "t: option \"mb\" of plugin acme.npu: expected int 0 to 1024, found \"1\""},
      {layer("t", "on", "yes"), "CONFIG_VALUE",
       "t: option \"on\" of plugin acme.npu: expected bool, found \"yes\""},
      {layer("t", "scale", "fast"), "CONFIG_VALUE",
       "t: option \"scale\" of plugin acme.npu: expected float, found \"fast\""},
      {layer("t", "mode", "lazzy"), "CONFIG_VALUE",
       "t: option \"mode\" of plugin acme.npu: expected enum lazy, eager, found \"lazzy\", did you "
       "mean \"lazy\""},
      {layer("t", "name", "010"), "CONFIG_VALUE",
       "t: option \"name\" of plugin acme.npu: expected string, found \"010\""},
      {text("${env:HOME}"), "CONFIG_VALUE",
       name + "\"${env:HOME}\" requires the environment variable HOME, which is not listed in "
              "env_allow"},
      {text("${env:CACHE:-${state_dir}}"), "CONFIG_VALUE",
       name + "\"${env:CACHE:-${state_dir}}\" contains ${ inside ${"},
      {text("${home}"), "CONFIG_VALUE",
       name + "\"${home}\" contains ${home}, known names are env:NAME, manifest_dir, library_dir "
              "and state_dir"},
      {text("a $b"), "CONFIG_VALUE",
       name + "\"a $b\" contains a single $, write $$ for a dollar sign"},
      {text("${state_dir"), "CONFIG_VALUE", name + "\"${state_dir\" contains ${ without }"}};
  for (const BadValue& one : bad) {
    const Error error = refusal(typed(), {one.layer});
    EXPECT_EQ(error.code, Code::invalid) << one.message;
    EXPECT_EQ(error.reason, one.reason);
    EXPECT_EQ(error.message, one.message);
  }
}

TEST(ConfigValues, RejectAnUnsetVariableWithoutADefault) {
  Manifest manifest = typed();
  manifest.env_allow = {"ABSENT"};

  EXPECT_EQ(refusal(manifest, {layer("t", "name", "${env:ABSENT}", Spelling::quoted)}).message,
            "t: option \"name\" of plugin acme.npu: \"${env:ABSENT}\" requires the environment "
            "variable ABSENT, which is not set");
  EXPECT_EQ(resolved(manifest, {layer("t", "name", "${env:ABSENT:-x}", Spelling::quoted)}, "name"),
            "x from t");
}

TEST(ConfigValues, DoNotDisplayASecret) {
  EXPECT_EQ(resolved(typed(), {layer("t", "token", "hunter2")}, "token"), "*** from t");
}

// One secret option of each type, an invalid value, and the complete text of the error.
TEST(ConfigValues, RejectASecretWithoutRepeatingAnyPartOfIt) {
  const std::string known = ", known names are env:NAME, manifest_dir, library_dir and state_dir";
  const std::tuple<std::string, std::string, Spelling, std::string> bad[] = {
      {"bool", "hunter2", Spelling::plain, "expected bool, found another value, which is secret"},
      {"int, min: 0, max: 9", "22", Spelling::plain,
       "expected int 0 to 9, found another value, which is secret"},
      {"int", "hunter2", Spelling::raw, "expected int, found another value, which is secret"},
      {"float, max: 9", "22", Spelling::plain,
       "expected float, at most 9, found another value, which is secret"},
      {"enum, enum: [hunter3]", "hunter2", Spelling::plain,
       "expected enum hunter3, found another value, which is secret"},
      {"string", "22", Spelling::plain, "expected string, found another value, which is secret"},
      {"path", "22", Spelling::plain, "expected path, found another value, which is secret"},
      {"string", "hunter2$x", Spelling::plain,
       "the secret value contains a single $, write $$ for a dollar sign"},
      {"string", "hunter2${x", Spelling::plain, "the secret value contains ${ without }"},
      {"path", "${hunter2${x}}", Spelling::plain, "the secret value contains ${ inside ${"},
      {"string", "${hunter2}", Spelling::raw,
       "the secret value contains an unknown name in ${}" + known},
      {"string", "${env:hunter2}", Spelling::quoted,
       "the secret value requires an environment variable, which is not listed in env_allow"},
      {"string", "hunter2${env:ABSENT}", Spelling::quoted,
       "the secret value requires the environment variable ABSENT, which is not set"}};
  for (const auto& [type, value, spelling, why] : bad) {
    const Manifest manifest =
        read_manifest(ManifestBuilder()
                          .id("acme.npu")
                          .key("k")
                          .line("env_allow: [ABSENT]")
                          .line("config_schema: {token: {type: " + type + ", secret: true}}")
                          .text(),
                      "/p/acme.yaml")
            .value();

    const Error error = refusal(manifest, {layer("t", "token", value, spelling)});

    EXPECT_EQ(error.code, Code::invalid) << value;
    EXPECT_EQ(error.reason, "CONFIG_VALUE") << value;
    EXPECT_EQ(error.message, "t: option \"token\" of plugin acme.npu: " + why);
  }
}

TEST(ConfigValues, HaveYamlTypesWithoutASchema) {
  const Manifest manifest = read_manifest(ManifestBuilder()
                                              .id("acme.npu")
                                              .key("k")
                                              .set("config", "{a: 1, b: true, c: '1', d: 1.5}")
                                              .text(),
                                          "/p/a.yaml")
                                .value();
  std::vector<Message> warnings;

  const auto values =
      resolve_config(manifest, std::vector{layer("runtime.yaml", "e", "2")}, locations(), warnings);

  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ((*values)[0].value, ConfigScalar(std::int64_t{1}));
  EXPECT_EQ((*values)[1].value, ConfigScalar(true));
  EXPECT_EQ((*values)[2].value, ConfigScalar(std::string("1")));
  EXPECT_EQ((*values)[3].value, ConfigScalar(1.5));
  EXPECT_THAT(warnings, ElementsAre("runtime.yaml: plugin acme.npu declares no option \"e\""));
}

TEST(ConfigVariable, IsTheIdAndKeyInUpperCase) {
  EXPECT_EQ(config_variable("acme.npu-2", "cache_mb"), "GANTRY_CONFIG_ACME_NPU_2__CACHE_MB");
}

TEST(ConfigVariable, HasOnlyItsLettersInUpperCase) {
  EXPECT_EQ(config_variable("a.z", "az~"), "GANTRY_CONFIG_A_Z__AZ~");
}

TEST(ConfigValues, AreAcceptedAtBothEndsOfTheirRange) {
  EXPECT_EQ(resolved(typed(), {layer("t", "mb", "0")}, "mb"), "0 from t");
  EXPECT_EQ(resolved(typed(), {layer("t", "mb", "1024")}, "mb"), "1024 from t");
}

// The manifest of one option "o".
Manifest with_option(std::string_view declaration) {
  return read_manifest(ManifestBuilder()
                           .id("acme.npu")
                           .key("k")
                           .line(concat("config_schema: {o: ", declaration, "}"))
                           .text(),
                       "/p/acme.yaml")
      .value();
}

TEST(ConfigValues, AreRejectedWithTheRangeAsWritten) {
  const std::pair<std::string_view, std::string_view> ranges[] = {
      {"{type: int, min: 3}", "int, at least 3"},
      {"{type: float, min: 0.5, max: 0.75}", "float 0.5 to 0.75"},
      {"{type: int, min: 2, max: 999999999999999}", "int 2 to 999999999999999"},
      {"{type: int, min: 2, max: 1000000000000000}", "int 2 to 1e+15"}};
  for (const auto& [declaration, range] : ranges) {
    EXPECT_EQ(refusal(with_option(declaration), {layer("t", "o", "0")}).message,
              concat("t: option \"o\" of plugin acme.npu: expected ", range, ", found \"0\""));
  }
}

TEST(ConfigValues, OfTheEnvironmentAreTextsInAnySpelling) {
  EXPECT_EQ(resolved(typed(), {layer("t", "name", "010", Spelling::raw)}, "name"), "010 from t");
}

TEST(ConfigValues, OfAnEnumAreNotExpanded) {
  const Manifest manifest = with_option("{type: enum, enum: [a$b]}");

  EXPECT_EQ(resolved(manifest, {layer("t", "o", "a$b")}, "o"), "a$b from t");
}

TEST(ConfigValues, WarnOnlyAboutOptionsThatTheManifestDoesNotSet) {
  const Manifest manifest =
      read_manifest(ManifestBuilder().id("acme.npu").key("k").set("config", "{a: 1}").text(),
                    "/p/a.yaml")
          .value();
  std::vector<Message> warnings;

  ASSERT_TRUE(
      resolve_config(manifest, std::vector{layer("t", "a", "2")}, locations(), warnings).ok());

  EXPECT_THAT(warnings, IsEmpty());
}

TEST(ConfigValues, HaveADigestOfKeysTypesAndValues) {
  const auto digest = [](std::string key, ConfigScalar value, bool secret = false) {
    return digest_of(std::vector{ConfigValue{std::move(key), std::move(value), "s", secret}});
  };
  const std::uint64_t one = digest("a", std::int64_t{1});

  EXPECT_EQ(one, digest_of(std::vector{ConfigValue{"a", std::int64_t{1}, "elsewhere", false}}));
  EXPECT_NE(one, digest("a", std::int64_t{2}));
  EXPECT_NE(one, digest("b", std::int64_t{1}));
  EXPECT_NE(one, digest("a", 1.0));
  EXPECT_NE(one, digest("a", std::string("1")));
  EXPECT_NE(one, digest_of({}));
  EXPECT_NE(digest("a", std::string("x"), true), digest("a", std::string("y"), true));
  EXPECT_NE(digest("a", 0.1), digest("a", 0.10000000000000002));
}

}  // namespace
}  // namespace gantry
