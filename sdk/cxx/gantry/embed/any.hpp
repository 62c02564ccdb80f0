// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/any.hpp - the result of a function.
#pragma once

#include <gantry/embed/object.hpp>
#include <gantry/embed/table.hpp>
#include <gantry/embed/tensor.hpp>
#include <gantry/kind_text.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
inline namespace embed_api {

class Function;
class Module;

// None, a number, a text or an object.
class Any {
 public:
  Any() = default;
  explicit Any(Value value) : value_(std::move(value)) {}
  explicit Any(const Object& object) {
    if (!object) return;
    gantry_value value{};
    value.kind = object.get()->kind;
    value.object = ObjectRef(object.ref()).take();
    value_ = Value::adopt(value);
  }

  const gantry_value& value() const { return value_.get(); }
  // Transfers the value to the caller: *result = any.take().
  [[nodiscard]] gantry_value take() { return value_.take(); }
  // For the result of a call. Precondition: is_none().
  gantry_value* slot() { return value_.slot(); }
  bool is_none() const { return value_.kind() == GANTRY_NONE; }

  // Each returns the content.
  //
  // returns  INVALID  the value is of another kind (VALUE_KIND)
  Result<std::int64_t> integer() const {
    if (const auto number = value_int(value())) return *number;
    return wrong("an integer");
  }
  Result<double> number() const {
    if (value().kind == GANTRY_FLOAT) return value().f;
    if (const auto number = value_int(value())) return static_cast<double>(*number);
    return wrong("a number");
  }
  Result<std::string> text() const {
    if (const auto text = value_text(value())) return std::string(*text);
    return wrong("a string");
  }
  Result<Tensor> tensor() const {
    if (value().kind != GANTRY_TENSOR) return wrong("a tensor");
    return Tensor(ObjectRef::share(value().object));
  }
  Result<std::vector<std::int64_t>> shape() const {
    if (const auto extents = value_shape(value()))
      return std::vector<std::int64_t>(extents->begin(), extents->end());
    return wrong("a shape");
  }
  // of function.hpp and module.hpp
  Result<Function> function() const;
  Result<Module> module() const;
  // Returns the items of an array, or the keys and values of a map (key, value, key, value).
  Result<std::vector<Any>> items() const {
    if (value().kind != GANTRY_ARRAY && value().kind != GANTRY_MAP)
      return wrong("an array or a map");
    const gantry_value* items = nullptr;
    std::uint64_t count = 0;
    GANTRY_CHECK(embed_detail::checked("items_get", [&](gantry_status* status) {
      return embed_table().items_get(value().object, &items, &count, status);
    }));
    std::vector<Any> all;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (items[i].kind >= GANTRY_OBJECT) gantry_retain(items[i].object);
      all.emplace_back(Value::adopt(items[i]));
    }
    return all;
  }
  // Returns the value of a key of a map; none if there is no such key.
  Result<Any> member(std::string_view key) const {
    if (value().kind != GANTRY_MAP) return wrong("a map");
    GANTRY_TRY(std::vector<Any> all, items());
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
      if (value_text(all[i].value()) == key) return std::move(all[i + 1]);
    }
    return Any();
  }

  // returns  INVALID, reason VALUE_KIND
  Failure wrong(std::string_view expected) const {
    return invalid("value is ", kind_text(value().kind), ", expected ", expected)
        .with_reason("VALUE_KIND");
  }

 private:
  Value value_;
};

namespace embed_detail {
// Returns the items of an array of texts.
inline Result<std::vector<std::string>> texts_in(const Any& list) {
  GANTRY_TRY(const std::vector<Any> items, list.items());
  std::vector<std::string> all;
  for (const Any& item : items) {
    GANTRY_TRY(std::string text, item.text());
    all.push_back(std::move(text));
  }
  return all;
}
}  // namespace embed_detail

}  // namespace embed_api
}  // namespace gantry
