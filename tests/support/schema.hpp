// SPDX-License-Identifier: Apache-2.0
//
// Compares a JSON schema in configs/ with the fields of the reader of such files.
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <vector>

namespace gantry::test {

using Json = nlohmann::json;

inline std::filesystem::path config(std::string_view name) {
  return golden("../../../configs") / name;
}

inline std::set<std::string> keys_of(const Json& properties) {
  std::set<std::string> keys;
  for (const auto& [key, value] : properties.items()) keys.insert(key);
  return keys;
}

inline std::string json_type(YamlType type) {
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

// Expects the same names, types, required keys, choices and ranges, recursively.
inline void expect_same(std::span<const YamlField> fields, const Json& schema,
                        const std::string& path) {
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
      EXPECT_EQ(property.at("minimum"), field.min) << here;
      EXPECT_EQ(property.at("maximum"), field.max) << here;
    }
    if (field.fields.empty()) continue;
    const Json& inner = field.type == YamlType::list  ? property.at("items")
                        : field.type == YamlType::map ? property.at("additionalProperties")
                                                      : property;
    expect_same(field.fields, inner, here);
  }
}

}  // namespace gantry::test
