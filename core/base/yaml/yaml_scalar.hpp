// SPDX-License-Identifier: Apache-2.0
//
// Strict conversion of scalars: one spelling for each value, and none that YAML readers interpret
// differently.
#pragma once

#include "core/base/yaml/yaml_text.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry {

// These return true if the value has the type. `out` is unspecified otherwise. A quoted scalar is
// only a text.

// -?(0|[1-9][0-9]*), 64 bits
bool yaml_integer(const YamlValue& value, std::int64_t& out);
// decimal, with an optional fraction and exponent
bool yaml_number(const YamlValue& value, double& out);
// true, false
bool yaml_boolean(const YamlValue& value, bool& out);
// quoted, or plain and not taken for a number, a truth value or null by any YAML reader; y and n are
// texts
bool yaml_text(const YamlValue& value);

// The value for error texts: `"010"`, `text "3"`, `a list`, `nothing`. Long values are truncated.
std::string yaml_found(const YamlValue& value);
// `expected integer, found "010"`
std::string yaml_expected(std::string_view what, const YamlValue& found);

}  // namespace gantry
