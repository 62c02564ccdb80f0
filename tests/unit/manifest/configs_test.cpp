// SPDX-License-Identifier: Apache-2.0
//
// Compares the files in configs/ with the code: schemas, examples and defaults.
#include "core/plugins/manifest/drop_in.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "core/plugins/manifest/manifest_fields.hpp"
#include "tests/support/schema.hpp"

#include <gantry/abi.h>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::config;
using test::expect_same;
using test::file_text;
using test::Json;
using test::keys_of;

TEST(PluginSchema, HasTheFieldsOfTheReader) {
  expect_same(manifest_fields(), Json::parse(file_text(config("schema/plugin.schema.json"))), "");
}

TEST(PluginSchema, HasThePatternsOfTheReader) {
  const Json schema = Json::parse(file_text(config("schema/plugin.schema.json")));

  EXPECT_EQ(schema.at("properties").at("id").at("pattern"), "^[a-z0-9]+([.-][a-z0-9]+)+$");
  EXPECT_TRUE(schema.at("patternProperties").contains("^x-"));
}

TEST(Examples, AreValidManifestsWithoutWarnings) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config("examples"))) {
    if (entry.path().extension() != ".yaml") continue;
    const Result<Manifest> manifest = open_manifest(entry.path().string());
    ASSERT_TRUE(manifest.ok()) << manifest.error().message;
    EXPECT_TRUE(manifest->warnings.empty()) << entry.path();
    // A copy is not refused for its range.
    EXPECT_EQ(manifest->abi.major, GANTRY_ABI_MAJOR) << entry.path();
    EXPECT_LE(manifest->abi.min_minor, GANTRY_ABI_MINOR) << entry.path();
    EXPECT_EQ(manifest->abi.max_minor, GANTRY_ABI_MINOR) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 4u);
}

TEST(Examples, HaveAValidDropIn) {
  Manifest manifest = open_manifest(config("examples/acme.yaml").string()).value();

  const Status applied = apply_drop_in(file_text(config("examples/acme.yaml.d/10-required.yaml")),
                                       "10-required.yaml", manifest);

  ASSERT_TRUE(applied.ok()) << applied.error().message;
  EXPECT_TRUE(manifest.required);
  EXPECT_EQ(manifest.priority, 10);
}

// core/engine/runtime tests the values; this compares only the keys.
TEST(RuntimeYaml, HasTheKeysOfItsSchema) {
  const YamlDocument document =
      parse_yaml(file_text(config("runtime.yaml")), "runtime.yaml").value();
  const Json schema = Json::parse(file_text(config("schema/runtime.schema.json")));

  for (const YamlEntry& entry : document.root.entries) {
    ASSERT_TRUE(schema.at("properties").contains(entry.key)) << entry.key;
    const Json inner = schema.at("properties").at(entry.key).value("properties", Json::object());
    for (const YamlEntry& key : entry.value.entries)
      EXPECT_TRUE(inner.contains(key.key)) << key.key;
    for (const std::string& key : keys_of(inner)) EXPECT_NE(entry.value.find(key), nullptr) << key;
  }
  for (const std::string& key : keys_of(schema.at("properties"))) {
    EXPECT_TRUE(document.root.find(key) || key == "cache" || key == "cpus") << key;
  }
}

}  // namespace
}  // namespace gantry
