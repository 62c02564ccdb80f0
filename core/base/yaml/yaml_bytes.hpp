// SPDX-License-Identifier: Apache-2.0
//
// A parsed YAML value in bytes that are read in a hundredth of the time that parse_yaml() takes.
//
// Native byte order. Each value, and each key of a map, is
//
//     u8 kind, 0x80 added if quoted   u16 line  u16 column  u16 offset   u16 size   content
//
// and the content are `size` bytes of text, `size` values, or `size` keys each followed by its value.
#pragma once

#include "core/base/yaml/yaml_text.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <string>

namespace gantry {

// Of longer texts, sizes and locations may not fit into the numbers.
constexpr std::size_t max_yaml_text = 0xfffe;

// Precondition: parse_yaml() has returned the value, for a text of at most `max_yaml_text` bytes.
std::string yaml_bytes(const YamlValue& value);

// Reads one value. The bytes may be any: what is accepted could be a value of parse_yaml() with the
// same limits, as for depth, unique keys, and texts in UTF-8.
//
// returns  malformed
// costs    O(bytes)
Result<YamlValue> read_yaml_bytes(ByteReader& in, const YamlLimits& limits = {});

}  // namespace gantry
