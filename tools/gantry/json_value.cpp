// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/json_value.hpp"

#include <gantry/json_tree.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::cli {
namespace {

// Recursive: the parser bounds the depth.
Result<Any> value_of(const Runtime& runtime, JsonValue json) {
  switch (json.kind()) {
    case JsonKind::null:
      return Any();
    case JsonKind::boolean:
      return Any(Value::adopt(bool_value(json.truth())));
    case JsonKind::count:
    case JsonKind::negative:
      return Any(Value::adopt(int_value(json.integer())));
    case JsonKind::fraction:
      return Any(Value::adopt(float_value(json.fraction())));
    case JsonKind::text:
      return runtime.text(json.text());
    case JsonKind::array: {
      std::vector<Any> items;
      items.reserve(json.size());
      for (const JsonValue item : json) {
        GANTRY_TRY(Any made, value_of(runtime, item));
        items.push_back(std::move(made));
      }
      return runtime.array(items);
    }
    case JsonKind::object:
      break;
  }
  std::vector<std::pair<Any, Any>> members;
  members.reserve(json.size());
  for (const JsonValue member : json) {
    GANTRY_TRY(Any key, runtime.text(member.key()));
    GANTRY_TRY(Any made, value_of(runtime, member));
    members.emplace_back(std::move(key), std::move(made));
  }
  return runtime.map(members);
}

}  // namespace

Result<Any> value_of_json(const Runtime& runtime, const JsonArg& argument) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(argument.text, {.name = "json"}));
  return value_of(runtime, tree.root());
}

}  // namespace gantry::cli
