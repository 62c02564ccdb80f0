// SPDX-License-Identifier: Apache-2.0
#include "core/embed/inspection.hpp"

#include "core/embed/value_tree.hpp"
#include "core/inspect/report.hpp"
#include "core/runtime/installed_plugins.hpp"

#include <gantry/json_tree.hpp>

namespace gantry {
namespace {

// Returns a JSON value as a value. The recursion is bounded by the depth that the parser permits.
Result<OwnedValue> value_of_json(const JsonValue& json) {
  gantry_value number{};
  switch (json.kind()) {
    case JsonKind::null:
      return OwnedValue();
    case JsonKind::boolean:
      number.kind = GANTRY_BOOL;
      number.i = json.truth() ? 1 : 0;
      return OwnedValue::adopt(number);
    case JsonKind::negative:
      return OwnedValue::adopt(int_value(json.integer()));
    case JsonKind::count:
      if (json.count() > INT64_MAX) return new_text(GANTRY_STRING, concat(json.count()));
      return OwnedValue::adopt(int_value(json.integer()));
    case JsonKind::fraction:
      number.kind = GANTRY_FLOAT;
      number.f = json.fraction();
      return OwnedValue::adopt(number);
    case JsonKind::text:
      return new_text(GANTRY_STRING, json.text());
    case JsonKind::array:
    case JsonKind::object:
      break;
  }
  const bool is_map = json.is(JsonKind::object);
  ValueList list;
  for (const JsonValue item : json) {
    GANTRY_TRY(OwnedValue value, value_of_json(item));
    if (is_map) {
      GANTRY_CHECK(list.member(item.key(), std::move(value)));
    } else {
      list.item(std::move(value));
    }
  }
  return is_map ? list.map() : list.array();
}

}  // namespace

Result<OwnedValue> inspection(const Runtime& runtime, const std::string& path) {
  InstalledPlugins plugins(runtime);
  const InspectOptions options{
      .find_layouts = [&]() -> Result<const PayloadLayouts*> { return &plugins.layouts(); },
      .served_by = [&](std::string_view type_key) { return plugins.serving(type_key); },
      .verbose = true};
  GANTRY_TRY(const InspectReport report, inspect_file(path, options));
  std::string text;
  write_inspect_json(report, options, [&](std::string_view piece) { text += piece; });
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, {.name = "report"}));
  return value_of_json(tree.root());
}

}  // namespace gantry
