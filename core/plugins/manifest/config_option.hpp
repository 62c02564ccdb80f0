// SPDX-License-Identifier: Apache-2.0
//
// Options of a plugin: their declarations (config_schema), values as written, and typed values.
#pragma once

#include "core/base/yaml/yaml_text.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gantry {

enum class OptionType { boolean, integer, number, text, path, choice };
// The name in manifests: "int".
std::string_view name_of(OptionType type);

using ConfigScalar = std::variant<bool, std::int64_t, double, std::string>;

// One entry of config_schema.
struct ConfigOption {
  std::string name;
  OptionType type = OptionType::text;
  // `default`, converted to the option's type
  std::optional<ConfigScalar> fallback;
  // integer and number
  std::optional<double> min, max;
  // choice
  std::vector<std::string> choices;
  std::string doc;
  // never printed
  bool secret = false;
};

// A value as written, before conversion. `plain` and `quoted` values are from YAML, whose quotes
// matter. `raw` values are from environment variables and program options.
enum class Spelling { plain, quoted, raw };
struct ConfigText {
  std::string key, text;
  Spelling spelling = Spelling::plain;
};

// Precondition: `value` is a scalar.
ConfigText to_config_text(std::string key, const YamlValue& value);

// The values from one source: a manifest, a drop-in, the configuration, the environment or the
// program.
struct ConfigLayer {
  // name for `gantry plugins doctor` and errors
  std::string source;
  std::vector<ConfigText> values;
};

// Converts a value to the option's type and checks its range.
//
// returns  invalid: `expected int 0 to 64, found "99"`; the text never contains a secret value
Result<ConfigScalar> to_scalar(const ConfigOption& option, const ConfigText& text);

// Converts a value of a plugin without a config_schema. A plain value has the type that it has in
// YAML; quoted and raw values are texts.
ConfigScalar guess_scalar(const ConfigText& text);

}  // namespace gantry
