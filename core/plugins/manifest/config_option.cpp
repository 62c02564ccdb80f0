// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/config_option.hpp"

#include "core/base/near_name.hpp"
#include "core/base/reason.hpp"
#include "core/base/yaml/yaml_record.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <cmath>

namespace gantry {
namespace {

YamlValue to_yaml(const ConfigText& text, bool quoted) {
  YamlValue value;
  value.kind = YamlKind::scalar;
  value.text = text.text;
  value.quoted = quoted;
  return value;
}

std::string number_text(double number) {
  const bool whole = std::abs(number) < 1e15 && number == std::floor(number);
  return whole ? concat(static_cast<std::int64_t>(number)) : concat(number);
}

std::string expected(const ConfigOption& option) {
  std::string text(name_of(option.type));
  if (option.min && option.max) {
    text += concat(" ", number_text(*option.min), " to ", number_text(*option.max));
  } else if (option.min) {
    text += concat(", at least ", number_text(*option.min));
  } else if (option.max) {
    text += concat(", at most ", number_text(*option.max));
  }
  return option.choices.empty() ? text : concat(text, " ", join(option.choices));
}

bool in_range(const ConfigOption& option, double number) {
  return !(option.min && number < *option.min) && !(option.max && number > *option.max);
}

}  // namespace

std::string_view name_of(OptionType type) {
  constexpr std::string_view names[] = {"bool", "int", "float", "string", "path", "enum"};
  return names[static_cast<std::size_t>(type)];
}

ConfigText to_config_text(std::string key, const YamlValue& value) {
  return {std::move(key), value.text, value.quoted ? Spelling::quoted : Spelling::plain};
}

Result<ConfigScalar> to_scalar(const ConfigOption& option, const ConfigText& text) {
  const auto wrong = [&] {
    std::string message = concat("expected ", expected(option));
    if (option.secret) {
      message += ", found another value, which is secret";
    } else {
      const std::vector<std::string_view> choices(option.choices.begin(), option.choices.end());
      message += concat(", found \"", text.text, "\"", did_you_mean(text.text, choices));
    }
    return invalid(message).with_reason(reason::config_value.tag);
  };
  const YamlValue value = to_yaml(text, text.spelling == Spelling::quoted);
  switch (option.type) {
    case OptionType::boolean: {
      bool truth = false;
      if (!yaml_boolean(value, truth)) return wrong();
      return ConfigScalar(truth);
    }
    case OptionType::integer: {
      std::int64_t number = 0;
      if (!yaml_integer(value, number) || !in_range(option, static_cast<double>(number)))
        return wrong();
      return ConfigScalar(number);
    }
    case OptionType::number: {
      double number = 0;
      if (!yaml_number(value, number) || !in_range(option, number)) return wrong();
      return ConfigScalar(number);
    }
    case OptionType::choice:
      if (std::find(option.choices.begin(), option.choices.end(), text.text) ==
          option.choices.end())
        return wrong();
      return ConfigScalar(text.text);
    case OptionType::text:
    case OptionType::path:
      if (text.spelling == Spelling::plain && !yaml_text(value)) return wrong();
      return ConfigScalar(text.text);
  }
  return wrong();
}

ConfigScalar guess_scalar(const ConfigText& text) {
  if (text.spelling != Spelling::plain) return text.text;
  const YamlValue value = to_yaml(text, false);
  bool truth = false;
  std::int64_t integer = 0;
  double number = 0;
  if (yaml_boolean(value, truth)) return truth;
  if (yaml_integer(value, integer)) return integer;
  if (yaml_number(value, number)) return number;
  return text.text;
}

}  // namespace gantry
