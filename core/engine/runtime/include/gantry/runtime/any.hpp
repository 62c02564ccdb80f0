// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/tensor.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

class Function;
class Module;

// The result of a function: none, a number, a text or an object.
class Any {
 public:
  Any() = default;
  Any(const Any& other);
  Any(Any&& other) noexcept : value_(std::exchange(other.value_, gantry_value{})) {}
  Any& operator=(Any other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Any() {
    if (value_.kind >= GANTRY_OBJECT) Object::drop(value_.object);
  }

  const gantry_value& value() const { return value_; }
  // Address for the result of a call. Precondition: is_none().
  gantry_value* slot() { return &value_; }
  bool is_none() const { return value_.kind == GANTRY_NONE; }
  // Each returns the content.
  //
  // returns  invalid  the value is of another kind: "value is a tensor, expected an integer"
  Result<std::int64_t> integer() const;
  Result<double> number() const;
  Result<std::string> text() const;
  Result<Tensor> tensor() const;
  Result<Function> function() const;
  Result<Module> module() const;
  Result<std::vector<std::int64_t>> shape() const;
  // Returns the items of an array, or the keys and values of a map (key, value, key, value).
  Result<std::vector<Any>> items() const;

  // Each creates a value that owns a copy of its content; arrays share their items' objects.
  //
  // returns  exhausted; invalid for an item that is borrowed, see share()
  static Result<Any> of_text(std::string_view text);
  static Result<Any> of_shape(std::span<const std::int64_t> extents);
  static Result<Any> of_items(std::span<const Any> items);
  // Takes over the value's reference, if it has one.
  static Any adopt(const gantry_value& value) {
    Any any;
    any.value_ = value;
    return any;
  }
  // Each adds a reference. An empty handle becomes none.
  static Any share(const gantry_value& value);
  static Any share(const Object& object);

 private:
  gantry_value value_{};
};

}  // namespace gantry
