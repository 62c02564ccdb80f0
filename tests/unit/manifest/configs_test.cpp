// SPDX-License-Identifier: Apache-2.0
//
// The files in configs/ say what the code does: schemas, examples, defaults.
#include "core/manifest/drop_in.hpp"
#include "core/manifest/manifest.hpp"
#include "core/manifest/manifest_fields.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <set>

namespace gantry {
namespace {

using Json = nlohmann::json;

std::filesystem::path config(std::string_view name) {
  return test::golden("../../../configs") / name;
}

std::string text_of(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> bytes = test::read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::set<std::string> keys_of(const Json& properties) {
  std::set<std::string> keys;
  for (const auto& [key, value] : properties.items()) keys.insert(key);
  return keys;
}

std::string json_type(YamlType type) {
  switch (type) {
    case YamlType::text:
    case YamlType::quoted_text:
    case YamlType::choice:
      return "string";
    case YamlType::integer:
      return "integer";
    case YamlType::number:
      return "number";
    case YamlType::boolean:
      return "boolean";
    case YamlType::list:
      return "array";
    case YamlType::record:
    case YamlType::map:
      return "object";
    case YamlType::scalar:
    case YamlType::any:
      break;
  }
  return "";
}

// Names, types, what is required, choices and ranges, level by level.
void expect_same(std::span<const YamlField> fields, const Json& schema, const std::string& path) {
  std::set<std::string> names, required;
  for (const YamlField& field : fields) {
    names.insert(std::string(field.name));
    if (field.required) required.insert(std::string(field.name));
  }
  EXPECT_EQ(keys_of(schema.at("properties")), names) << path;
  EXPECT_EQ(schema.value("required", std::set<std::string>()), required) << path;
  EXPECT_FALSE(schema.value("additionalProperties", true)) << path;
  for (const YamlField& field : fields) {
    const std::string here = yaml_path(path, field.name);
    const Json& property = schema.at("properties").at(std::string(field.name));
    if (const std::string type = json_type(field.type); !type.empty()) {
      EXPECT_EQ(property.at("type"), type) << here;
    }
    if (!field.choices.empty()) {
      EXPECT_EQ(property.at("enum"),
                Json(std::vector<std::string>(field.choices.begin(), field.choices.end())))
          << here;
    }
    if (field.type == YamlType::integer) {
      EXPECT_EQ(property.at("minimum"), field.least) << here;
      EXPECT_EQ(property.at("maximum"), field.most) << here;
    }
    if (field.fields.empty()) continue;
    const Json& inner = field.type == YamlType::list  ? property.at("items")
                        : field.type == YamlType::map ? property.at("additionalProperties")
                                                      : property;
    expect_same(field.fields, inner, here);
  }
}

TEST(PluginSchema, SaysWhatTheReaderDoes) {
  expect_same(manifest_fields(), Json::parse(text_of(config("schema/plugin.schema.json"))), "");
}

TEST(PluginSchema, HasTheSchemaVersionsPattern) {
  const Json schema = Json::parse(text_of(config("schema/plugin.schema.json")));

  EXPECT_EQ(schema.at("properties").at("id").at("pattern"), "^[a-z0-9]+([.-][a-z0-9]+)+$");
  EXPECT_TRUE(schema.at("patternProperties").contains("^x-"));
}

TEST(Examples, AreManifestsWithoutAWarning) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config("examples"))) {
    if (entry.path().extension() != ".yaml") continue;
    const Result<Manifest> manifest = open_manifest(entry.path().string());
    ASSERT_TRUE(manifest.ok()) << manifest.error().message;
    EXPECT_TRUE(manifest->warnings.empty()) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 4u);
}

TEST(Examples, HaveADropInThatApplies) {
  Manifest manifest = open_manifest(config("examples/acme.yaml").string()).value();

  const Status applied = apply_drop_in(text_of(config("examples/acme.yaml.d/10-required.yaml")),
                                       "10-required.yaml", manifest);

  ASSERT_TRUE(applied.ok()) << applied.error().message;
  EXPECT_TRUE(manifest.required);
  EXPECT_EQ(manifest.priority, 10);
}

// core/runtime reads it; here only that the file and its schema know the same keys.
TEST(RuntimeYaml, HasNoKeyThatItsSchemaLacks) {
  const YamlDocument document = parse_yaml(text_of(config("runtime.yaml")), "runtime.yaml").value();
  const Json schema = Json::parse(text_of(config("schema/runtime.schema.json")));

  for (const YamlEntry& entry : document.root.entries) {
    ASSERT_TRUE(schema.at("properties").contains(entry.key)) << entry.key;
    const Json inner = schema.at("properties").at(entry.key).value("properties", Json::object());
    for (const YamlEntry& key : entry.value.entries)
      EXPECT_TRUE(inner.contains(key.key)) << key.key;
    for (const std::string& key : keys_of(inner)) EXPECT_NE(entry.value.find(key), nullptr) << key;
  }
  for (const std::string& key : keys_of(schema.at("properties"))) {
    EXPECT_TRUE(document.root.find(key) || key == "cache") << key;
  }
}

}  // namespace
}  // namespace gantry
