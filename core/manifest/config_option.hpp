// SPDX-License-Identifier: Apache-2.0
//
// Options of a plugin: what a manifest declares (config_schema), values as written, values with a type.
#pragma once

#include "core/yaml/yaml_text.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gantry {

enum class OptionType { boolean, integer, number, text, path, choice };
// as manifests spell it: "int"
std::string_view name_of(OptionType type);

using ConfigScalar = std::variant<bool, std::int64_t, double, std::string>;

// One entry of config_schema.
struct ConfigOption {
  std::string name;
  OptionType type = OptionType::text;
  // `default`; of the option's type
  std::optional<ConfigScalar> fallback;
  // integer and number
  std::optional<double> min, max;
  // choice
  std::vector<std::string> choices;
  std::string unit, doc;
  // can change without a restart
  bool live = false;
  // never printed
  bool secret = false;
};

// A value before it has a type. YAML is strict about spelling; an environment variable or a
// program's option (raw) is text whatever it says.
enum class Spelling { plain, quoted, raw };
struct ConfigText {
  std::string key, text;
  Spelling spelling = Spelling::plain;
};

// precondition: a scalar
ConfigText to_config_text(std::string key, const YamlValue& value);

// Values that come from one place: a manifest, a drop-in, the configuration, the environment, the program.
struct ConfigLayer {
  // as doctor prints it
  std::string source;
  std::vector<ConfigText> values;
};

// Converts and checks.
//
// returns  invalid: "expected int 0 to 64, found 99"; a secret's value is not repeated
Result<ConfigScalar> to_scalar(const ConfigOption& option, const ConfigText& text);

// For plugins without a config_schema: true, 3, 2.5 as they read in YAML, else text; raw is always text.
ConfigScalar guess_scalar(const ConfigText& text);

}  // namespace gantry
