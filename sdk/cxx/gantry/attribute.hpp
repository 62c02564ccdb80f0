// SPDX-License-Identifier: Apache-2.0
//
// gantry/attribute.hpp - an attribute of a device: a number, a text, or none.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// The value of one GANTRY_ATTRIBUTE_*.
class Attribute {
 public:
  // None: the attribute does not apply to the device.
  Attribute() = default;
  template <std::integral Number>
  Attribute(Number number)  // NOLINT: implicit by design
      : form_(Form::number), number_(static_cast<std::int64_t>(number)) {}
  Attribute(std::string text) : form_(Form::text), text_(std::move(text)) {}  // NOLINT
  Attribute(std::string_view text) : Attribute(std::string(text)) {}          // NOLINT
  Attribute(const char* text) : Attribute(std::string(text)) {}               // NOLINT
  template <std::integral Number>
  Attribute(std::optional<Number> number)  // NOLINT
      : form_(number ? Form::number : Form::none),
        number_(static_cast<std::int64_t>(number.value_or(0))) {}

  // Each returns NULL if the attribute is of another kind.
  const std::int64_t* number() const { return form_ == Form::number ? &number_ : nullptr; }
  const std::string* text() const { return form_ == Form::text ? &text_ : nullptr; }

 private:
  enum class Form : std::uint8_t { none, number, text };

  Form form_ = Form::none;
  std::int64_t number_ = 0;
  std::string text_;
};

}  // namespace gantry
