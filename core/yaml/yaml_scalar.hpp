// SPDX-License-Identifier: Apache-2.0
//
// What a scalar reads as, strictly: one spelling for each thing, and nothing that two readers of YAML take differently.
#pragma once

#include "core/yaml/yaml_text.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// Each returns whether the value is of the type; only then `out` means something. Quoted scalars are text only.
// -?(0|[1-9][0-9]*), 64 bits
bool yaml_integer(const YamlValue& value, std::int64_t& out);
// with or without fraction and exponent
bool yaml_number(const YamlValue& value, double& out);
// true, false
bool yaml_boolean(const YamlValue& value, bool& out);
// Anything quoted, and whatever no reader takes for a number, a truth value or nothing.
bool yaml_text(const YamlValue& value);

// The value as an error names it: `"010"`, `text "3"`, `a list`, `nothing`; long ones are cut.
std::string yaml_found(const YamlValue& value);
// `expected integer, found "010"`
std::string yaml_expected(std::string_view what, const YamlValue& found);

}  // namespace gantry
