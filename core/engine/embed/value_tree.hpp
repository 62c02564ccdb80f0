// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// Collects the members of a map or the items of an array.
//
//     ValueList device;
//     GANTRY_CHECK(device.member("name", name));
//     GANTRY_TRY(Value map, device.map());
class ValueList {
 public:
  void item(Value value) { values_.push_back(std::move(value)); }
  Status item(std::string_view text) {
    GANTRY_TRY(Value made, new_text(GANTRY_STRING, text));
    item(std::move(made));
    return {};
  }

  Status member(std::string_view key, Value value) {
    GANTRY_CHECK(item(key));
    item(std::move(value));
    return {};
  }
  Status member(std::string_view key, std::string_view text) {
    GANTRY_CHECK(item(key));
    return item(text);
  }
  Status member(std::string_view key, std::int64_t number) {
    return member(key, Value::adopt(int_value(number)));
  }
  Status member(std::string_view key, std::span<const std::string> texts) {
    ValueList list;
    for (const std::string& text : texts) GANTRY_CHECK(list.item(text));
    GANTRY_TRY(Value array, list.array());
    return member(key, std::move(array));
  }

  Result<Value> map() const { return make(GANTRY_MAP); }
  Result<Value> array() const { return make(GANTRY_ARRAY); }

 private:
  Result<Value> make(std::int32_t kind) const {
    std::vector<gantry_value> items;
    for (const Value& value : values_) items.push_back(value.get());
    GANTRY_TRY(ObjectPtr made, new_items(kind, items));
    return owned_value(std::move(made));
  }

  std::vector<Value> values_;
};

}  // namespace gantry
